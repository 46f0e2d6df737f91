// Package check checks a ResourceSync Source: it reads all its documents, compares them with
// the specifications, with each other, and with a sample of the resources and packages, and
// tries its topics, hubs and WebSockets.
//
//	report, err := check.Check(ctx, "https://example.org/", nil)
//	for _, f := range report.Findings {
//		fmt.Println(f.Harm, f.Force, f.Rule, f.Document, f.Line, f.Message, f.Remedy)
//	}
//
// Each finding has two judgements. Its [Harm] is the effect on the copies of Destinations. Its
// [Force] is how strongly the sentence binds that the finding is about: a sentence of the core
// specification 1.1, the notification specifications, the Sitemap protocol or HTTP. A finding can
// be harmful although the specifications allow it, and harmless although it breaks a must. [Rules]
// returns all rules. Package checktest checks a Source in a Go test.
//
// Memory does not depend on the number of resources: all entries of a set with up to 131,072
// resources are compared with each other; of a larger set, a random sample is.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/fetch"
)

// Options are the optional arguments of [Check]. The zero value is usable.
type Options struct {
	// Sample is the number of resources whose content is requested and compared with
	// their entries, and of files of each package. They are chosen at random. If zero, it
	// is 50; if negative, none are. All requests all of them, and all packages.
	Sample int
	All    bool

	// Pause is the minimum time between two readings of a document. If zero, it is two
	// seconds; if negative, no document is read twice.
	Pause time.Duration

	// Rate is the maximum number of requests per second to a host, and Concurrency the maximum
	// number of concurrent requests. If zero, the rate is not limited, and 4 requests are
	// concurrent. A robots.txt can ask for a lower rate.
	Rate        float64
	Concurrency int

	// Allow are networks with internal addresses that may be requested. The host of the
	// target always may; other internal addresses never.
	Allow []netip.Prefix

	// Callback is where hubs verify subscriptions. The program serves it at its URL. Each
	// hub then gets a subscription to one topic, which is cancelled at once. If nil, hubs
	// get only requests that they must refuse.
	Callback *Callback

	// MaxContent is the maximum size, in bytes, of a resource or package that is
	// requested. If zero, it is 1 GiB.
	MaxContent int64

	// IgnoreRobots requests what a robots.txt disallows.
	IgnoreRobots bool

	// UserAgent is sent with requests; its first word is the name in robots.txt. If
	// empty, "resourcesync" is used.
	UserAgent string

	// Transport sends the requests, instead of connections that are limited to Allow. It
	// may be nil.
	Transport http.RoundTripper

	// Harm is the least harm, and Force the weakest force, of the findings in the report. If
	// empty, all are in it. The report has the number of others.
	Harm  Harm
	Force Force

	// Ignore has the IDs of rules whose findings are not in the report either.
	Ignore []string

	// Progress receives the progress a few times per second. It must not block. It may be
	// nil.
	Progress func(Progress)
}

// Progress is the progress of a Check.
type Progress struct {
	Documents, Entries, Resources, Packages int64  // as in a Report
	Current                                 string // the URL that is being read
}

// ErrNotSource means that the target does not lead to a ResourceSync document.
var ErrNotSource = errors.New("it does not lead to a ResourceSync document")

// Check checks the Source at target: the URL of the site, of any of its documents, or of a page
// that links to them; or a file, which is a document or a package. If target is a document,
// Check reads the documents below it, and none above it.
//
// The report has the findings. An error means that Check could not read the target at all,
// or that ctx has ended. The report is then nil or incomplete.
func Check(ctx context.Context, target string, o *Options) (*Report, error) {
	if o == nil {
		o = &Options{}
	}
	if o.Rate < 0 || o.Concurrency < 0 || o.MaxContent < 0 {
		return nil, errors.New("check: Rate, Concurrency and MaxContent must not be negative")
	}
	if o.Harm != "" && o.Harm.order() < 0 || o.Force != "" && o.Force.order() < 0 {
		return nil, fmt.Errorf("check: Harm must be one of %q, and Force one of %q", Harms(), Forces())
	}
	for _, id := range o.Ignore {
		if ruleByID[id] == nil {
			return nil, fmt.Errorf("check: cannot ignore unknown rule %q", id)
		}
	}
	c := &checker{findings: findings{harm: o.Harm, force: o.Force, ignore: o.Ignore}, options: *o, report: &Report{Target: target, Begun: time.Now()}}
	c.options.Sample = cmp.Or(o.Sample, 50)
	c.options.Pause = cmp.Or(o.Pause, 2*time.Second)
	c.options.MaxContent = cmp.Or(o.MaxContent, 1<<30)
	c.options.Concurrency = cmp.Or(o.Concurrency, 4)
	if err := c.run(ctx, target); err != nil {
		if ctx.Err() != nil {
			return c.finish(), ctx.Err()
		}
		return nil, fmt.Errorf("check: %s: %w", target, err)
	}
	return c.finish(), nil
}

// A checker is one Check.
type checker struct {
	findings
	options Options
	client  *fetch.Client
	folder  string // for packages and large resources

	documents, entries, resources, packages, packed, bytes, rereads atomic.Int64

	progress struct {
		sync.Mutex
		last time.Time
	}

	coverage sync.Mutex // guards the fields below
	claims   []claim
	sets     map[string]cover // by Capability List
	covered  int              // resources of all sets

	report *Report
}

func (c *checker) run(ctx context.Context, target string) error {
	u, err := url.Parse(target)
	isURL := err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
	if !isURL {
		return c.file(target)
	}
	if c.folder, err = os.MkdirTemp("", "resourcesync-check-"); err != nil {
		return err
	}
	defer os.RemoveAll(c.folder)
	c.client = fetch.New(fetch.Options{
		Trusted: []string{fetch.HostPort(u)}, Allow: c.options.Allow, Rate: c.options.Rate, Concurrency: c.options.Concurrency,
		UserAgent: c.options.UserAgent, IgnoreRobots: c.options.IgnoreRobots, Attempts: 2, Transport: c.options.Transport,
	})
	defer c.client.CloseIdle()
	return c.source(ctx, u)
}

// finish returns the report.
func (c *checker) finish() *Report {
	r := c.report
	r.Ended = time.Now()
	r.Documents, r.Entries, r.Resources, r.Packages, r.Packed, r.Bytes = c.documents.Load(), c.entries.Load(), c.resources.Load(), c.packages.Load(), c.packed.Load(), c.bytes.Load()
	c.fill(r)
	return r
}

// progressEvery is the interval between reports of progress.
const progressEvery = 200 * time.Millisecond

// at reports progress.
func (c *checker) at(current string) {
	if c.options.Progress == nil {
		return
	}
	c.progress.Lock()
	defer c.progress.Unlock()
	if time.Since(c.progress.last) < progressEvery {
		return
	}
	c.progress.last = time.Now()
	c.options.Progress(Progress{c.documents.Load(), c.entries.Load(), c.resources.Load(), c.packages.Load(), current})
}
