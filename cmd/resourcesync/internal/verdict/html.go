package verdict

import (
	"embed"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/check"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

//go:embed pages
var pages embed.FS

// data is the content of the page.
type data struct {
	*check.Report
	Facts  []webpage.Fact
	Groups []*group
}

// writeHTML writes a report as a page that needs no other files.
func writeHTML(w io.Writer, r *check.Report) error {
	folder, err := fs.Sub(pages, "pages")
	if err != nil {
		return err
	}
	t, err := webpage.New(folder, nil)
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
	text, err := t.Render("report", &webpage.Page{
		Title: "Check of " + r.Target, Site: "resourcesync", Home: r.Target, Intro: intro, Now: r.Ended,
		Data: data{r, []webpage.Fact{
			{Name: "Errors", Value: webpage.Count(r.Harms[check.Error])}, {Name: "Warnings", Value: webpage.Count(r.Harms[check.Warning])},
			{Name: "Advice", Value: webpage.Count(r.Harms[check.Advice])},
			{Name: "Broken musts", Value: webpage.Count(r.Forces[check.Must])}, {Name: "Broken shoulds", Value: webpage.Count(r.Forces[check.Should])},
			{Name: "Documents", Value: webpage.Count(r.Documents), Note: webpage.Bytes(r.Bytes)}, {Name: "Entries", Value: webpage.Count(r.Entries)},
			{Name: "Resources", Value: webpage.Count(r.Resources), Note: "compared"}, {Name: "Packages", Value: webpage.Count(r.Packages)},
		}, groups(r)},
	})
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// Word returns the force of the findings of the group.
func (g *group) Word() string {
	var all []string
	for _, s := range g.Quoted() {
		if word := force(s.Force); !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return strings.Join(all, ", ")
}

// Class returns the class of the badge of a harm.
func (g *group) Class() string {
	switch g.Harm {
	case check.Error:
		return "deleted"
	case check.Warning:
		return "open"
	}
	return "created"
}
