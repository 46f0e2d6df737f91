package main

import (
	"context"
	"flag"
	"log/slog"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/oaipmh"
	"github.com/resourcesync-go/resourcesync/scan"
)

// An oaiConfig is the configuration of a set of the records of an OAI-PMH repository.
type oaiConfig struct {
	setSettings
	url       string
	oaiSet    string
	format    string // the metadata prefix
	uri       string
	uriPrefix string
	describe  bool
	overlap   span
	fullEvery span // zero for the default of the package
	maxState  size
	rate      float64
}

func (c *oaiConfig) flags(flags *flag.FlagSet) {
	setDefault(flags, "rescan", "10m")
	setDefault(flags, "dumps", "false")
	c.overlap = span(time.Hour)
	flags.StringVar(&c.oaiSet, "set-spec", "", "")
	flags.StringVar(&c.format, "metadata-prefix", "oai_dc", "")
	flags.StringVar(&c.uri, "uri", "", "")
	flags.StringVar(&c.uriPrefix, "uri-prefix", "", "")
	flags.BoolVar(&c.describe, "link-metadata", false, "")
	flags.Var(&c.overlap, "overlap", "")
	flags.Var(&c.fullEvery, "full-every", "")
	c.maxState = 16 << 30
	flags.Var(&c.maxState, "max-state", "")
	flags.Float64Var(&c.rate, "rate", 1, "")
}

func (c *oaiConfig) argument() *string { return &c.url }

func (c *oaiConfig) required() []requirement {
	return []requirement{{"url", "the address of the repository's OAI-PMH interface", "https://repo.example.org/oai", c.url}}
}

func (c *oaiConfig) check(*siteConfig) error {
	u, err := url.Parse(c.url)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return usagef("%q: give the address of the repository's OAI-PMH interface, such as https://repo.example.org/oai", c.url)
	case c.dumps:
		return usagef("--dumps: the pages of the repository are not here; leave it out")
	case c.format == "":
		return usagef("--metadata-prefix: give a format of the repository, such as oai_dc")
	case c.overlap < 0:
		return usagef("--overlap %v: give a time such as 1h, or 0", &c.overlap)
	case c.fullEvery < 0:
		return usagef("--full-every %v: give a time such as 7d, or 0 for the default", &c.fullEvery)
	case !(c.rate >= 0) || math.IsInf(c.rate, 0):
		return errRate
	}
	// New sends no request.
	if _, err := oaipmh.New(c.url, c.options("", nil)); err != nil {
		return usagef("%s", strings.TrimPrefix(err.Error(), "oaipmh: "))
	}
	return nil
}

func (c *oaiConfig) options(userAgent string, log *slog.Logger) *oaipmh.Options {
	return &oaipmh.Options{
		MetadataPrefix: c.format, Set: c.oaiSet, URI: c.uri, URIPrefix: c.uriPrefix, DescribedBy: c.describe,
		Overlap: max(time.Duration(c.overlap), 1), FullEvery: time.Duration(c.fullEvery), Every: c.rescan,
		MaxState: int64(c.maxState), Rate: unlimited(c.rate), UserAgent: userAgent, Logger: log,
	}
}

func (c *oaiConfig) stateName() string { return "records" }

func (c *oaiConfig) identity(*siteConfig) (scan.Identity, error) {
	source := "the records of " + c.url
	if c.oaiSet != "" {
		source += " in the set " + c.oaiSet
	}
	return scan.Identity{Name: source}, nil
}

func (c *oaiConfig) open(_ context.Context, m *member) (*content, error) {
	repository, err := oaipmh.New(c.url, c.options("resourcesync (+"+m.baseURL+")", m.log))
	if err != nil {
		return nil, usageError{err}
	}
	from := c.url
	if c.oaiSet != "" {
		from += " set " + c.oaiSet
	}
	return &content{
		from:    slog.String("repository", from),
		unit:    "record",
		origin:  repository,
		changed: repository.Changed,
		status:  func(now *setStatus) { now.Repository = new(repository.Status()) },
	}, nil
}
