package check

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// maxFindings is the maximum number of findings of each rule in a Report.
const maxFindings = 20

// A Finding is a place where the Source does not follow a rule.
type Finding struct {
	Severity Severity `json:"severity"`
	Rule     string   `json:"rule"` // the ID

	// Document is the URL or file name of the document, or of another response. Line and
	// Column, in bytes, count from 1. They are 0 if the finding is about all of it.
	Document string `json:"document"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`

	Message string `json:"message"`
	Section string `json:"section"` // of the specification
	Remedy  string `json:"remedy"`
}

// A Report is the result of [Check].
type Report struct {
	Target string    `json:"target"`
	Begun  time.Time `json:"begun"`
	Ended  time.Time `json:"ended"`

	// The numbers of documents read, of their entries, and of resources and packages whose
	// content was compared with their entries. Bytes is the size of the documents,
	// uncompressed.
	Documents int64 `json:"documents"`
	Entries   int64 `json:"entries"`
	Resources int64 `json:"resources"`
	Packages  int64 `json:"packages"`
	Bytes     int64 `json:"bytes"`

	// Violations is the number of errors and warnings, and Advice that of advice.
	Violations int64 `json:"violations"`
	Advice     int64 `json:"advice"`

	// Findings are sorted by severity, then in the order in which they were found. There
	// are at most 20 for each rule; Counts has the number of all, by the ID of the rule.
	Findings []Finding        `json:"findings"`
	Counts   map[string]int64 `json:"counts"`

	// Unchecked lists the checks that were not made, and why.
	Unchecked []string `json:"unchecked,omitempty"`
}

// OK reports whether there are no violations.
func (r *Report) OK() bool { return r.Violations == 0 }

// findings collects findings. It is safe for concurrent use.
type findings struct {
	mu        sync.Mutex
	list      []Finding
	counts    map[string]int64
	unchecked []string
}

// A place is a position in a document.
type place struct {
	document     string
	line, column int
}

// add adds a finding of a rule. section replaces that of the rule, unless it is empty.
func (f *findings) add(id string, at place, section, format string, args ...any) {
	rule := ruleByID[id]
	if rule == nil {
		panic("check: there is no rule " + id)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts == nil {
		f.counts = make(map[string]int64)
	}
	if f.counts[id]++; f.counts[id] > maxFindings {
		return
	}
	f.list = append(f.list, Finding{
		Severity: rule.Severity, Rule: id, Document: at.document, Line: at.line, Column: at.column,
		Message: fmt.Sprintf(format, args...), Section: cmp.Or(section, rule.Section), Remedy: rule.Remedy,
	})
}

// skip notes a check that is not made. Only the first few are kept.
func (f *findings) skip(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if text := fmt.Sprintf(format, args...); len(f.unchecked) < maxFindings && !slices.Contains(f.unchecked, text) {
		f.unchecked = append(f.unchecked, text)
	}
}

// fill puts the findings into a report.
func (f *findings) fill(r *Report) {
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.SortStableFunc(f.list, func(a, b Finding) int { return a.Severity.order() - b.Severity.order() })
	r.Findings, r.Counts, r.Unchecked = f.list, f.counts, f.unchecked
	for id, n := range f.counts {
		if ruleByID[id].Severity == Advice {
			r.Advice += n
		} else {
			r.Violations += n
		}
	}
}
