// Package verdict writes the report of a check for people, for programs and for continuous
// integration.
package verdict

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync/check"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

// Formats are the names of the formats of Write.
func Formats() []string { return []string{"text", "json", "junit", "html", "sarif"} }

// Write writes a report in a format.
func Write(w io.Writer, format string, r *check.Report) error {
	switch format {
	case "text":
		return writeText(terminal.New(w), r)
	case "json":
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(r)
	case "junit":
		return writeJUnit(w, r)
	case "html":
		return writeHTML(w, r)
	case "sarif":
		return writeSARIF(w, r)
	}
	return fmt.Errorf("%q is not one of the formats %s", format, strings.Join(Formats(), ", "))
}

// A group has the findings of one rule, which may have different forces.
type group struct {
	check.Rule
	Findings []check.Finding
	Count    int64
}

// More returns the number of findings that are not in the report.
func (g *group) More() int64 { return g.Count - int64(len(g.Findings)) }

// Fails reports whether a finding of the group makes the report not OK.
func (g *group) Fails() bool {
	return slices.ContainsFunc(g.Findings, func(f check.Finding) bool { return f.Fails() })
}

// Quoted returns the sentences of the findings.
func (g *group) Quoted() (all []check.Sentence) {
	for _, f := range g.Findings {
		if s := f.Sentence(); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// Sentences returns the forces and the sections of the findings.
func (g *group) Sentences() string {
	var all []string
	for _, s := range g.Quoted() {
		all = append(all, force(s.Force)+", "+s.Section)
	}
	return strings.Join(all, "; ")
}

// force returns the force of a finding in words.
func force(f check.Force) string {
	if f == check.None {
		return "no requirement"
	}
	return string(f)
}

// quotation returns the quote of a sentence between quotation marks, or "".
func quotation(s *check.Sentence) string {
	switch {
	case s.Quote == "":
		return ""
	case s.Translated():
		return s.Section + ", in our translation: “" + s.Quote + "”"
	}
	return s.Section + ": “" + s.Quote + "”"
}

// groups returns the findings by rule, in the order of the report.
func groups(r *check.Report) (out []*group) {
	byRule := make(map[string]*group)
	rules := make(map[string]check.Rule)
	for _, rule := range check.Rules() {
		rules[rule.ID] = rule
	}
	for _, f := range r.Findings {
		g := byRule[f.Rule]
		if g == nil {
			g = &group{Rule: rules[f.Rule], Count: r.Counts[f.Rule]}
			byRule[f.Rule] = g
			out = append(out, g)
		}
		g.Findings = append(g.Findings, f)
	}
	return out
}

// place returns the position of a finding as compilers write it, and the number of the entry.
func place(f *check.Finding) string {
	switch {
	case f.Line == 0:
		return f.Document
	case f.Entry == 0:
		return fmt.Sprintf("%s:%d:%d", f.Document, f.Line, f.Column)
	}
	return fmt.Sprintf("%s:%d:%d (entry %s)", f.Document, f.Line, f.Column, humanize.Comma(int64(f.Entry)))
}

// read states how much has been read.
func read(r *check.Report) string {
	packages := webpage.Number(r.Packages, "package")
	if r.Packed > 0 {
		packages += " with " + webpage.Number(r.Packed, "resource")
	}
	return fmt.Sprintf("%s with %s, %s and %s were read in %v.", webpage.Number(r.Documents, "document"), webpage.Number(r.Entries, "entry"),
		webpage.Number(r.Resources, "resource"), packages, r.Ended.Sub(r.Begun).Round(time.Millisecond))
}

// omitted states how many findings the options exclude.
func omitted(r *check.Report) string {
	return webpage.Number(r.Omitted, "finding") + " of less harm or force, or of rules that are ignored"
}

// Summary returns the numbers of findings by harm and by force.
func Summary(r *check.Report) string {
	text := fmt.Sprintf("%s, %s, %s", webpage.Number(r.Harms[check.Error], "error"), webpage.Number(r.Harms[check.Warning], "warning"), webpage.Number(r.Harms[check.Advice], "piece")+" of advice")
	for _, force := range []check.Force{check.Must, check.Should} {
		if n := r.Forces[force]; n == 1 {
			text += fmt.Sprintf("; 1 breaks a %s", force)
		} else if n > 1 {
			text += fmt.Sprintf("; %s break a %s", humanize.Comma(n), force)
		}
	}
	return text
}
