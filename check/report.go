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

// A Finding is a place at which a rule has found something.
type Finding struct {
	Rule  string `json:"rule"` // the ID
	Harm  Harm   `json:"harm"`
	Force Force  `json:"force"` // of the sentence

	// Document is the URL or file name of the document, or of another response. Line and
	// Column, in bytes, count from 1, as does Entry, the number of the entry. They are 0 if
	// the finding is about the document, and Entry also if it is about the head.
	Document string `json:"document"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Entry    int    `json:"entry,omitempty"`

	Message string `json:"message"`

	// Section is the section of the specification, such as "Core 10.1", and Link its URL. Quote has
	// at most 25 words of the sentence, or is empty; see [Sentence].
	Section string `json:"section"`
	Link    string `json:"link"`
	Quote   string `json:"quote,omitempty"`

	Remedy string   `json:"remedy"`         // what to change
	Seen   []string `json:"seen,omitempty"` // software that is known to write it that way
}

// Fails reports whether a report with f is not OK: f is an error, or breaks a must.
func (f *Finding) Fails() bool { return f.Harm == Error || f.Force == Must }

// Sentence returns the sentence that f is about.
func (f *Finding) Sentence() Sentence { return Sentence{f.Section, f.Force, f.Quote} }

// A Report is the result of [Check].
type Report struct {
	Target string    `json:"target"`
	Begun  time.Time `json:"begun"`
	Ended  time.Time `json:"ended"`

	// The numbers of documents read, of their entries, and of resources and packages whose
	// content was compared with their entries. Packed is the number of resources that were
	// compared in packages. Bytes is the size of the documents, uncompressed.
	Documents int64 `json:"documents"`
	Entries   int64 `json:"entries"`
	Resources int64 `json:"resources"`
	Packages  int64 `json:"packages"`
	Packed    int64 `json:"packed"`
	Bytes     int64 `json:"bytes"`

	// The numbers of findings by harm and by force. Each finding counts in both.
	Harms  map[Harm]int64  `json:"harms"`
	Forces map[Force]int64 `json:"forces"`

	// Omitted is the number of findings that the options Harm, Force and Ignore exclude. They
	// count nowhere else.
	Omitted int64 `json:"omitted,omitempty"`

	// Findings are sorted by harm, then by force, then by document, in the order in which the
	// first finding of each was made, then by line. There are at most 20 for each rule; Counts
	// has the number of all, by the ID of the rule.
	Findings []Finding        `json:"findings"`
	Counts   map[string]int64 `json:"counts"`

	// Unchecked lists the checks that were not made, and why.
	Unchecked []string `json:"unchecked,omitempty"`
}

// OK reports whether the report has no error and no broken "must".
func (r *Report) OK() bool { return r.Harms[Error] == 0 && r.Forces[Must] == 0 }

// findings collects findings. It is safe for concurrent use.
type findings struct {
	harm  Harm  // the least that is collected, or ""
	force Force // the weakest that is collected, or ""

	ignore []string // IDs of rules

	mu        sync.Mutex
	list      []Finding
	counts    map[string]int64
	harms     map[Harm]int64
	forces    map[Force]int64
	omitted   int64
	unchecked []string
}

// A place is a position in a document.
type place struct {
	document            string
	line, column, entry int
}

// add adds a finding of a rule, about its sentence in section, or about its first sentence if
// section is empty.
func (f *findings) add(id string, at place, section, format string, args ...any) {
	rule := ruleByID[id]
	if rule == nil {
		panic("check: unknown rule " + id)
	}
	s := rule.sentence(section)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.harm != "" && rule.Harm.order() > f.harm.order() || f.force != "" && s.Force.order() > f.force.order() || slices.Contains(f.ignore, id) {
		f.omitted++
		return
	}
	if f.counts == nil {
		f.counts, f.harms, f.forces = make(map[string]int64), make(map[Harm]int64), make(map[Force]int64)
	}
	f.harms[rule.Harm]++
	f.forces[s.Force]++
	if f.counts[id]++; f.counts[id] > maxFindings {
		return
	}
	f.list = append(f.list, Finding{
		Rule: id, Harm: rule.Harm, Force: s.Force, Document: at.document, Line: at.line, Column: at.column, Entry: at.entry,
		Message: fmt.Sprintf(format, args...), Section: s.Section, Link: s.Link(), Quote: s.Quote, Remedy: rule.Remedy, Seen: rule.Seen,
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
	found := make(map[string]int) // documents
	for i := range f.list {
		if _, again := found[f.list[i].Document]; !again {
			found[f.list[i].Document] = i
		}
	}
	slices.SortStableFunc(f.list, func(a, b Finding) int { // resources are compared concurrently
		return cmp.Or(a.Harm.order()-b.Harm.order(), a.Force.order()-b.Force.order(), found[a.Document]-found[b.Document], a.Line-b.Line, a.Column-b.Column)
	})
	r.Findings, r.Counts, r.Harms, r.Forces, r.Omitted, r.Unchecked = f.list, f.counts, f.harms, f.forces, f.omitted, f.unchecked
}
