package verdict

import (
	"embed"
	"io"
	"io/fs"

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
	intro := "The Source keeps all rules of ResourceSync that were checked."
	if !r.OK() {
		intro = "The Source breaks rules of ResourceSync."
	}
	text, err := t.Render("report", &webpage.Page{
		Title: "Check of " + r.Target, Site: "resourcesync", Home: r.Target, Intro: intro, Now: r.Ended,
		Data: data{r, []webpage.Fact{
			{Name: "Violations", Value: webpage.Count(r.Violations)}, {Name: "Advice", Value: webpage.Count(r.Advice)},
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

// Class returns the class of the badge of a severity.
func (g *group) Class() string {
	switch g.Severity {
	case check.Error:
		return "deleted"
	case check.Warning:
		return "open"
	}
	return "created"
}
