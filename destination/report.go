package destination

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// samples is the number of failures and deviations that a report has in full.
const samples = 20

// A Report is the result of [Destination.Sync].
type Report struct {
	Sets int `json:"sets"` // of the Source

	// Created, Updated and Deleted are the resources of which the copy has changed,
	// and Received the bytes of their content.
	Created  int64 `json:"created"`
	Updated  int64 `json:"updated"`
	Deleted  int64 `json:"deleted"`
	Received int64 `json:"received"`

	// Packages is the number of packages of dumps that have been received. Unused is the
	// number of dumps, packages and bitstreams in them that could not be used, and
	// UnusedDumps has the first ones. Their resources are requested one by one.
	Packages    int64     `json:"packages,omitempty"`
	Unused      int64     `json:"unused,omitempty"`
	UnusedDumps []Failure `json:"unused_dumps,omitempty"`

	// Held is the number of resources that the Source lists no more, and that the copy
	// keeps because they are too many; see [Options].MaxDelete.
	Held int64 `json:"held,omitempty"`

	// Failed is the number of resources that could not be copied or deleted, or have not
	// been tried because their host fails or Sync has ended. They are tried again by the
	// next Sync. Failures has the first of those that have been tried.
	Failed   int64     `json:"failed,omitempty"`
	Failures []Failure `json:"failures,omitempty"`

	// Resources and Bytes are the size of the copy.
	Resources int64 `json:"resources"`
	Bytes     int64 `json:"bytes"`

	// Deviations is the number of rules that documents break, and Deviating has the
	// first one of each kind and document.
	Deviations int64       `json:"deviations,omitempty"`
	Deviating  []Deviation `json:"deviating,omitempty"`
}

// A Failure is a resource that could not be copied, and why.
type Failure struct {
	URI   string `json:"uri"`
	Error string `json:"error"`
}

// A Deviation is a rule that a document of the Source breaks. Section is that of the
// specification; see [rsxml.SyntaxError].
type Deviation struct {
	Document string `json:"document"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Rule     string `json:"rule"`
	Section  string `json:"section"`
}

func (d Deviation) String() string {
	return fmt.Sprintf("%s: line %d, column %d: %s (%s)", d.Document, d.Line, d.Column, d.Rule, d.Section)
}

func (r *Report) deviate(document string, e *rsxml.SyntaxError) {
	r.Deviations++
	d := Deviation{document, e.Line, e.Column, sparse.Clip(e.Rule), e.Section}
	for _, known := range r.Deviating {
		if known.Document == d.Document && known.Section == d.Section {
			return
		}
	}
	if len(r.Deviating) < samples {
		r.Deviating = append(r.Deviating, d)
	}
}

func (r *Report) fail(log *slog.Logger, uri string, err error) {
	known := slices.ContainsFunc(r.Failures, func(f Failure) bool { return f.URI == uri })
	if len(r.Failures) < samples && !known {
		log.Warn("a resource cannot be copied", "uri", sparse.Clip(uri), "error", sparse.Clip(err.Error()))
		r.Failures = append(r.Failures, Failure{uri, sparse.Clip(err.Error())})
	}
}

// unused records a dump, a package or a bitstream in it that cannot be used.
func (r *Report) unused(log *slog.Logger, uri string, err error) {
	if r.Unused++; len(r.UnusedDumps) < samples {
		log.Warn("a part of a dump cannot be used", "uri", sparse.Clip(uri), "error", sparse.Clip(err.Error()))
		r.UnusedDumps = append(r.UnusedDumps, Failure{sparse.Clip(uri), sparse.Clip(err.Error())})
	}
}
