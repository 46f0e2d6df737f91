package main

import (
	"context"
	"flag"
	"log/slog"
	"math"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/adapters/oaipmh"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
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
	if _, err := oaipmh.New(c.url, nil, nil, c.options("", nil)); err != nil {
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

func (c *oaiConfig) checkOwner(ctx context.Context, _ *siteConfig, set *sqlstore.Set) (origin, error) {
	source := "the records of " + c.url
	if c.oaiSet != "" {
		source += " in the set " + c.oaiSet
	}
	return c.checkSource(ctx, set, source)
}

// An oaiSet is a set of the records of a repository. It takes the place of the stored set
// for the scanner: a scan is a harvest.
type oaiSet struct {
	*member
	repository *oaipmh.Repository
	result     resourcesync.ScanResult
}

func (c *oaiConfig) open(ctx context.Context, m *member) (*content, error) {
	st := m.daemon.state
	progress, err := st.Set(ctx, "harvest of "+m.stored, nil)
	if err != nil {
		return nil, usagef("state %q: %w", st.place, err)
	}
	s := &oaiSet{member: m}
	if s.repository, err = oaipmh.New(c.url, m.set.Set, progress, c.options("resourcesync (+"+m.baseURL+")", m.log)); err != nil {
		return nil, usageError{err}
	}
	m.scanner.set = s
	from := c.url
	if c.oaiSet != "" {
		from += " set " + c.oaiSet
	}
	return &content{
		from: slog.String("repository", from),
		unit: "record",
		list: s.list,
		watch: func(ctx context.Context, changed func([]string)) error {
			first := true // the call at the beginning, when the scanner harvests anyway
			return s.repository.Watch(ctx, func() {
				if !first {
					changed(nil)
				}
				first = false
			})
		},
		total:   s.total,
		reports: true,
		changed: s.repository.Changed,
		status:  func(now *setStatus) { now.Repository = new(s.repository.Status()) },
	}, nil
}

// Scan harvests: it consumes the whole listing.
func (s *oaiSet) Scan(_ context.Context, harvest listing) (resourcesync.ScanResult, error) {
	s.result = resourcesync.ScanResult{}
	for _, err := range harvest {
		return s.result, err
	}
	return s.result, nil
}

// ScanRanges implements [scanSet]. No part of a repository is scanned alone.
func (s *oaiSet) ScanRanges(ctx context.Context, ranges []resourcesync.Range, resources listing) (resourcesync.ScanResult, error) {
	return s.set.ScanRanges(ctx, ranges, resources)
}

// list harvests while it reports the progress. It yields nothing but an error.
func (s *oaiSet) list(ctx context.Context) listing {
	return func(yield func(resourcesync.Resource, error) bool) {
		done := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for tick := time.NewTicker(countedReports); ; {
				select {
				case <-done:
					tick.Stop()
					return
				case <-tick.C:
					st := s.repository.Status()
					s.report(dir.Progress{Files: st.Records, Skipped: st.Unlisted})
				}
			}
		})
		var err error
		s.result, err = s.repository.Harvest(ctx)
		close(done)
		wg.Wait()
		s.scanner.skipped.Store(s.repository.Status().Unlisted)
		if err != nil {
			yield(resourcesync.Resource{}, err)
		}
	}
}

// total waits until the repository has stated how many records it has.
func (s *oaiSet) total(ctx context.Context) (records, bytes int64, err error) {
	for {
		if st := s.repository.Status(); st.Size > 0 || st.Records > 0 {
			return st.Size, 0, nil
		}
		select {
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		case <-time.After(countedReports):
		}
	}
}
