package origin

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/oaipmh"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/requests"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
	"github.com/resourcesync-go/resourcesync/scan"
)

// An oaiConfig is the configuration of a set of the records of an OAI-PMH repository.
type oaiConfig struct {
	Common
	url       string
	oaiSet    string
	format    string // the metadata prefix
	uri       string
	uriPrefix string
	describe  bool
	overlap   time.Duration
	fullEvery time.Duration // zero for the default of the package
	maxState  int64
	rate      float64
}

func (o *oaiConfig) Declare(c *settings.Catalog) {
	c.Add(settings.Setting{Name: "url", Value: settings.Text(&o.url), Argument: true, Need: "the address of the repository's OAI-PMH interface", Example: "https://repo.example.org/oai"})
	c.Add(
		settings.Setting{Name: "metadata-prefix", Value: settings.Text(&o.format), Default: "oai_dc",
			Text: `The format of the metadata, one of the repository's metadata prefixes. Only records that have it
				are listed.`},
		settings.Setting{Name: "set-spec", Value: settings.Text(&o.oaiSet), Without: "all records",
			Text: "The setSpec of a set of the repository, to list its records only."},
		settings.Setting{Name: "uri", Value: settings.Text(&o.uri), Without: "the first http or https URL among the identifiers in the metadata",
			Text: `The template of the URIs of the resources, such as https://repo.example.org/handle/{+local}.
				{identifier} is the OAI identifier of a record, percent-encoded, and {local} the part after
				oai:namespace:. {+identifier} and {+local} keep slashes.`},
		settings.Setting{Name: "uri-prefix", Value: settings.Text(&o.uriPrefix), Without: "http",
			Text: `Take only identifiers in the metadata that begin with this, such as https://repo.example.org/, if
				they have URLs of other sites, too.`},
		settings.Setting{Name: "link-metadata", Value: settings.Bool(&o.describe), Group: settings.Lists,
			Text: `Add to each resource a link to its metadata, rel="describedby": the URL of the GetRecord request.`},
		settings.Setting{Name: "overlap", Value: settings.Span(&o.overlap), Default: "1h", Group: settings.Lists,
			Text: `How far each request for changes reaches back before the one before it, for records that appear
				later than their datestamps say. It is at least a second, or a day if the datestamps are dates.`},
		settings.Setting{Name: "full-every", Value: settings.Span(&o.fullEvery), Without: "7d, or 28d for all records of a repository that keeps deleted records", Group: settings.Lists,
			Text: `The time between complete listings of the repository, such as 7d, which find the records that have
				disappeared without a report.`},
		settings.Setting{Name: "max-state", Value: settings.Size(&o.maxState), Default: "16GiB", Group: settings.Limits,
			Text: `The maximum size of the records of one listing in the state, about 300 bytes for each. A harvest
				that needs more fails, and deletes nothing.`},
		settings.Setting{Name: "rate", Value: settings.Float(&o.rate), Default: "1", Group: settings.Limits,
			Text: `The maximum number of requests per second to a host, such as 5 or 0.5. 0 means no limit. The host is
				that of the repository.`},
	)
	c.Change(settings.Setting{Name: "rescan", Default: "10m",
		Text: "The interval between requests for changes, such as 5m or 1h. A ping requests them at once."})
	c.Change(settings.Setting{Name: "dumps", Default: "false", Text: "Not available: the pages of the repository are elsewhere."})
}

func (c *oaiConfig) Check(string) error {
	var f settings.Faults
	u, err := url.Parse(c.url)
	f.If(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https", "url", "give the address of the repository's OAI-PMH interface, such as https://repo.example.org/oai")
	f.If(c.Dumps, "dumps", "the pages of the repository are not here; leave it out")
	f.If(c.format == "", "metadata-prefix", "give a format of the repository, such as oai_dc")
	f.If(c.overlap < 0, "overlap", "give a time such as 1h, or 0")
	f.If(c.fullEvery < 0, "full-every", "give a time such as 7d, or 0 for the default")
	f.Add(requests.CheckRate(c.rate))
	if f.Err() == nil {
		if _, err := oaipmh.New(c.url, c.options("", nil)); err != nil { // which sends no request
			wrong := "url"
			if without := *c; c.uri != "" {
				without.uri = ""
				if _, err := oaipmh.New(c.url, without.options("", nil)); err == nil {
					wrong = "uri"
				}
			}
			f.Add(settings.Fault(wrong, "%s", strings.TrimPrefix(err.Error(), "oaipmh: ")))
		}
	}
	return f.Err()
}

func (c *oaiConfig) options(userAgent string, log *slog.Logger) *oaipmh.Options {
	return &oaipmh.Options{
		MetadataPrefix: c.format, Set: c.oaiSet, URI: c.uri, URIPrefix: c.uriPrefix, DescribedBy: c.describe,
		Overlap: max(c.overlap, 1), FullEvery: c.fullEvery, Every: c.Rescan,
		MaxState: c.maxState, Rate: requests.Unlimited(c.rate), UserAgent: userAgent, Logger: log,
	}
}

func (c *oaiConfig) Question() string {
	return fmt.Sprintf("Does the OAI-PMH repository %s list all of its records?", settings.WithoutPassword(c.url))
}

func (c *oaiConfig) StateName() string { return "records" }

func (c *oaiConfig) Identity(string) (scan.Identity, error) {
	source := "the records of " + c.url
	if c.oaiSet != "" {
		source += " in the set " + c.oaiSet
	}
	return scan.Identity{Name: source}, nil
}

func (c *oaiConfig) Open(_ context.Context, m *Set) (*Content, error) {
	repository, err := oaipmh.New(c.url, c.options("resourcesync (+"+m.BaseURL+")", m.Log))
	if err != nil {
		return nil, settings.Errorf("%w", err)
	}
	from := c.url
	if c.oaiSet != "" {
		from += " set " + c.oaiSet
	}
	return &Content{
		From:    slog.String("repository", from),
		Unit:    "record",
		Origin:  repository,
		Changed: repository.Changed,
		Status:  func(now *status.Set) { now.Repository = new(repository.Status()) },
	}, nil
}
