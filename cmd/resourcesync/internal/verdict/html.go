package verdict

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync/check"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

// writeHTML writes a report as a page that needs no other files.
func writeHTML(w io.Writer, r *check.Report) error {
	look, err := webpage.New("", webpage.Own{})
	if err != nil {
		return err
	}
	intro := "The check found no error, and no broken must of a specification."
	switch {
	case r.Forces[check.Must] > 0:
		intro = "The Source breaks musts of the specifications."
	case !r.OK():
		intro = "The Source breaks no must, but copies of it become wrong or incomplete."
	}
	page := &webpage.Page{Title: "Check of " + r.Target, Site: "resourcesync", Home: r.Target, Intro: intro, Now: r.Ended}
	text, err := look.Render(page, content(r, groups(r)))
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// facts returns the figures of a report.
func facts(r *check.Report) []webpage.Fact {
	return []webpage.Fact{
		{Name: "Errors", Value: humanize.Comma(r.Harms[check.Error])}, {Name: "Warnings", Value: humanize.Comma(r.Harms[check.Warning])},
		{Name: "Advice", Value: humanize.Comma(r.Harms[check.Advice])},
		{Name: "Broken musts", Value: humanize.Comma(r.Forces[check.Must])}, {Name: "Broken shoulds", Value: humanize.Comma(r.Forces[check.Should])},
		{Name: "Documents", Value: humanize.Comma(r.Documents), Note: humanize.Bytes(uint64(r.Bytes))}, {Name: "Entries", Value: humanize.Comma(r.Entries)},
		{Name: "Resources", Value: humanize.Comma(r.Resources), Note: "compared"}, {Name: "Packages", Value: humanize.Comma(r.Packages)},
	}
}

// word returns the force of the findings of the group.
func (g *group) word() string {
	var all []string
	for _, s := range g.Quoted() {
		if word := force(s.Force); !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return strings.Join(all, ", ")
}

// class returns the class of the badge of a harm.
func (g *group) class() string {
	switch g.Harm {
	case check.Error:
		return "deleted"
	case check.Warning:
		return "open"
	}
	return "created"
}

// caption returns the number of the findings in words.
func (g *group) caption() string {
	text := webpage.Number(g.Count, "finding")
	if g.More() > 0 {
		text += ", of which these are the first"
	}
	return text
}

// within returns the position of a finding in its document, which may be empty.
func within(f *check.Finding) string {
	var at string
	if f.Line > 0 {
		at = fmt.Sprintf("%d:%d", f.Line, f.Column)
	}
	if f.Entry > 0 {
		at += fmt.Sprintf(" (entry\u00a0%d)", f.Entry)
	}
	return at
}
