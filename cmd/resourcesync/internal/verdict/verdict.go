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

	"github.com/resourcesync-go/resourcesync/check"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

// Formats are the names of the formats of Write.
func Formats() []string { return []string{"text", "json", "junit", "html"} }

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
	}
	return fmt.Errorf("%q is none of the formats %s", format, strings.Join(Formats(), ", "))
}

// A group has the findings of one rule.
type group struct {
	check.Rule
	Findings []check.Finding
	Count    int64
}

// More returns the number of findings that are not in the report.
func (g *group) More() int64 { return g.Count - int64(len(g.Findings)) }

// Sections returns the sections of the findings.
func (g *group) Sections() string {
	var all []string
	for _, f := range g.Findings {
		if !slices.Contains(all, f.Section) {
			all = append(all, f.Section)
		}
	}
	return strings.Join(all, ", ")
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

// place returns the position of a finding as compilers write it.
func place(f *check.Finding) string {
	if f.Line == 0 {
		return f.Document
	}
	return fmt.Sprintf("%s:%d:%d", f.Document, f.Line, f.Column)
}

// read states how much has been read.
func read(r *check.Report) string {
	return fmt.Sprintf("%s with %s, %s and %s were read in %v.", number(r.Documents, "document"), number(r.Entries, "entr{y,ies}"),
		number(r.Resources, "resource"), number(r.Packages, "package"), r.Ended.Sub(r.Begun).Round(time.Millisecond))
}

// number returns a number with a noun, whose plural ends in s or is written as entr{y,ies}.
func number(n int64, noun string) string {
	if stem, ends, ok := strings.Cut(noun, "{"); ok {
		one, many, _ := strings.Cut(strings.TrimSuffix(ends, "}"), ",")
		if noun = stem + many; n == 1 {
			noun = stem + one
		}
	} else if n != 1 {
		noun += "s"
	}
	return webpage.Count(n) + " " + noun
}

// Summary returns the numbers of errors, warnings and advice.
func Summary(r *check.Report) string {
	counts := make(map[check.Severity]int64)
	for _, g := range groups(r) {
		counts[g.Severity] += g.Count
	}
	return fmt.Sprintf("%s, %s, %s", number(counts[check.Error], "error"), number(counts[check.Warning], "warning"), number(counts[check.Advice], "piece{ of advice,s of advice}"))
}
