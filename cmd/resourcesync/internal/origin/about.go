package origin

import (
	"strings"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	documents "github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// An About describes the Source or a set to people. Only a file can describe a set.
type About struct{ rshttp.About }

func (a *About) Declare(c *settings.Catalog, ofSet bool) {
	c.Add(
		settings.Setting{Name: "title", Value: settings.Text(&a.Title), Group: settings.Lists, Key: ofSet,
			Text: `The name of this Source, such as "Example University Library". HTML pages show it.`},
		settings.Setting{Name: "description", Value: settings.Text(&a.Description), Group: settings.Lists, Key: ofSet,
			Text: "What this Source publishes, in some sentences. HTML pages show it."},
		settings.Setting{Name: "contact", Value: settings.Text(&a.Contact), Group: settings.Lists, Key: ofSet,
			Text: `Whom harvesters can ask: an email address, or the URL of a page. HTML pages show it.`},
	)
}

func (a *About) Check() error {
	if field, err := documents.About(a.About).Check(); err != nil {
		return settings.Fault(strings.ToLower(field), "%w", err)
	}
	return nil
}

// CheckURI returns an error for a setting that is neither empty nor a URI.
func CheckURI(name, uri string) error {
	if uri == "" || rsxml.CheckURI(uri) == nil {
		return nil
	}
	return settings.Fault(name, "%w", rsxml.CheckURI(uri))
}
