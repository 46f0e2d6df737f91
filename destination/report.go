package destination

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/fetch"
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

	// Moved is the former URL of a Source that has moved, if this Sync has found that out, and
	// Renamed the number of resources of the copy that have got their present URIs.
	Moved   string `json:"moved,omitempty"`
	Renamed int64  `json:"renamed,omitempty"`

	// Adopted is the number of resources whose content the copy has had before; see
	// [Options].Rebuild.
	Adopted int64 `json:"adopted,omitempty"`

	// Packages is the number of packages of dumps that have been received. Unused is the
	// number of dumps, packages and bitstreams in them that could not be used, and
	// UnusedDumps has the first ones. Their resources are requested one by one.
	Packages    int64     `json:"packages,omitempty"`
	Unused      int64     `json:"unused,omitempty"`
	UnusedDumps []Failure `json:"unused_dumps,omitempty"`

	// Held is the number of resources that the Source no longer lists, and that the copy keeps,
	// because there are too many of them or because they are a whole set; see [Options].MaxDelete.
	Held int64 `json:"held,omitempty"`

	// Gone has the first of the sets that the Source no longer names.
	Gone []GoneSet `json:"gone,omitempty"`

	// Unverifiable is the number of resources that had to be requested without a condition, because
	// neither their entries nor validators of their server can show a change. The copy shows
	// what the Source had then.
	Unverifiable int64 `json:"unverifiable,omitempty"`

	// Failed is the number of resources that could not be copied or deleted, or have not
	// been tried because their host fails or Sync has ended. They are tried again by the
	// next Sync. Failures has the first of those that have been tried.
	Failed   int64     `json:"failed,omitempty"`
	Failures []Failure `json:"failures,omitempty"`

	// Private is an address, such as 10.1.2.3, that was not requested although resources lead to
	// it, because it is neither public, nor the address of the Source, nor in [Options].Allow. The
	// zero Addr means that there was none.
	Private netip.Addr `json:"private,omitzero"`

	// Pauses are the hosts that have asked for a pause (Retry-After), the longest first. Until its
	// pause ends, a host is not requested, not even by the next Sync, and Failed counts its
	// resources.
	Pauses []Pause `json:"pauses,omitempty"`

	// Resources and Bytes are the size of the copy.
	Resources int64 `json:"resources"`
	Bytes     int64 `json:"bytes"`

	// Deviations is the number of rules that documents break, and Deviating has the
	// first one of each kind and document.
	Deviations int64       `json:"deviations,omitempty"`
	Deviating  []Deviation `json:"deviating,omitempty"`
}

// A Failure is a resource that could not be copied, and why. If its server has asked for a later
// request (Retry-After), Next is the time before which it is not tried again.
type Failure struct {
	URI   string    `json:"uri"`
	Error string    `json:"error"`
	Next  time.Time `json:"next,omitzero"`
}

// A Pause is a host, such as https://example.org:443, that is not requested before a time.
type Pause struct {
	Host  string    `json:"host"`
	Until time.Time `json:"until"`
}

// A Deviation is a rule that a document of the Source breaks. Section is a section of the
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
	f := Failure{URI: uri, Error: sparse.Clip(strings.TrimPrefix(err.Error(), uri+": "))}
	if failed, ok := errors.AsType[*fetch.StatusError](err); ok {
		f.Next = failed.Until
	}
	if internal, ok := errors.AsType[*fetch.InternalError](err); ok {
		r.Private = internal.Address
		r.add(f)
	} else if r.add(f) {
		log.Warn("a resource cannot be copied", "uri", sparse.Clip(uri), "error", f.Error)
	}
}

// add adds a failure unless the report has it, or has many.
func (r *Report) add(f Failure) bool {
	known := slices.ContainsFunc(r.Failures, func(k Failure) bool { return k.URI == f.URI })
	if known || len(r.Failures) >= samples {
		return false
	}
	r.Failures = append(r.Failures, f)
	return true
}

// unused records a dump, a package or a bitstream in it that cannot be used.
func (r *Report) unused(log *slog.Logger, uri string, err error) {
	if r.Unused++; len(r.UnusedDumps) < samples {
		log.Warn("a part of a dump cannot be used", "uri", sparse.Clip(uri), "error", sparse.Clip(err.Error()))
		r.UnusedDumps = append(r.UnusedDumps, Failure{URI: sparse.Clip(uri), Error: sparse.Clip(err.Error())})
	}
}
