package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/temoto/robotstxt"
	"golang.org/x/time/rate"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/copyname"
	"github.com/resourcesync-go/resourcesync/internal/webclient"
)

const (
	// maxRobots is the maximum number of bytes read of a robots.txt (RFC 9309, section
	// 2.5), and robotsAge the time for which it is kept (section 2.4).
	maxRobots = 512 << 10
	robotsAge = 24 * time.Hour

	// maxFailures is the number of failures in a row after which a host is down, and
	// downTime the time until it is tried again.
	maxFailures = 32
	downTime    = 30 * time.Second

	// maxCrawlDelay is the longest time between requests that a robots.txt can ask for.
	maxCrawlDelay = 30 * time.Second
)

var (
	// ErrDisallowed means that the robots.txt of a host disallows a request.
	ErrDisallowed = errors.New("robots.txt disallows it")

	// ErrDown means that a host has failed so often that it is not requested for a while.
	ErrDown = errors.New("its host has failed many times in a row")

	errScheme = errors.New("the scheme is neither http nor https")
)

const robotsPath = "/robots.txt"

// hosts is the RoundTripper of a Client: it limits the requests to each host.
type hosts struct {
	options   *Options
	transport http.RoundTripper
	product   string // of the user agent, as in robots.txt

	mu    sync.Mutex
	hosts map[string]*host
}

func newHosts(o *Options, transport http.RoundTripper) *hosts {
	product, _, _ := strings.Cut(strings.Fields(o.UserAgent + " resourcesync")[0], "/")
	return &hosts{options: o, transport: transport, product: product, hosts: make(map[string]*host)}
}

// agent returns the User-Agent of requests for u.
func (o *Options) agent(u *url.URL) string {
	if o.Name != "" && slices.Contains(o.NameTo, HostPort(u)) {
		return copyname.Add(o.UserAgent, o.Name)
	}
	return o.UserAgent
}

// A host has the state of a host and port.
type host struct {
	name    string // such as https://example.org:443
	slots   chan struct{}
	limiter *rate.Limiter

	pause    webclient.Pause
	deciding chan struct{} // has room for the one request that decides about a suspicion

	mu        sync.Mutex
	failures  int       // in a row
	cause     error     // of the last failure
	down      time.Time // no requests before, because of failures
	suspicion suspicion
	trusted   time.Time // no suspicion before
	probe     probe

	robotsMu sync.Mutex
	robots   *robotstxt.Group
	robotsAt time.Time
}

// maxHosts is the maximum number of hosts whose state is kept: a list can name any number.
const maxHosts = 10_000

func (h *hosts) host(u *url.URL) *host {
	name := u.Scheme + "://" + HostPort(u)
	h.mu.Lock()
	defer h.mu.Unlock()
	if known, ok := h.hosts[name]; ok {
		return known
	}
	if len(h.hosts) >= maxHosts {
		clear(h.hosts)
	}
	limit := rate.Inf
	if h.options.Rate > 0 {
		limit = rate.Limit(h.options.Rate)
	}
	made := &host{
		name: name, slots: make(chan struct{}, h.options.Concurrency), limiter: rate.NewLimiter(limit, 1),
		deciding: make(chan struct{}, 1),
	}
	h.hosts[name] = made
	return made
}

// RoundTrip implements [http.RoundTripper].
func (h *hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		return nil, errScheme
	}
	to := h.host(r.URL)
	if r.Method == http.MethodGet && !h.options.IgnoreRobots && r.URL.Path != robotsPath {
		if err := h.allowed(r.Context(), to, r.URL); err != nil {
			return nil, err
		}
	}
	return h.send(to, r)
}

// send sends a request when the limits of its host allow it.
func (h *hosts) send(to *host, r *http.Request) (*http.Response, error) {
	ctx, begun := r.Context(), time.Now()
	select {
	case to.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	release := func() { <-to.slots }
	if err := to.isDown(); err != nil {
		release()
		return nil, err
	}
	if err := h.wait(ctx, to); err != nil {
		release()
		return nil, err
	}
	waited(ctx, begun)
	ctx, cancel := context.WithCancel(ctx)
	r = r.Clone(ctx)
	r.Header.Set("User-Agent", h.options.agent(r.URL))
	res, err := h.transport.RoundTrip(r)
	k := kindOf(ctx)
	delayed := err == nil && k != document && res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") != ""
	if ctx.Err() == nil && !delayed { // that is said about one resource
		to.count(failureOf(res, err))
	}
	if err != nil {
		cancel()
		release()
		return nil, err
	}
	to.record(r, res)
	res.Body = webclient.NewBody(res.Body, idleTimeout, cancel, func() {
		cancel()
		release()
	})
	return res, nil
}

// failureOf returns the failure of a host that a response or an error shows, or nil.
func failureOf(res *http.Response, err error) error {
	if err == nil && (res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests) {
		return errors.New(res.Status)
	}
	return err
}

// count counts a failure of the host, or a success if cause is nil.
func (to *host) count(cause error) {
	to.mu.Lock()
	defer to.mu.Unlock()
	if cause == nil {
		to.failures = 0
		return
	}
	to.cause = cause
	if to.failures++; to.failures >= maxFailures {
		to.failures, to.down = 0, time.Now().Add(downTime)
	}
}

// isDown returns an error that wraps ErrDown and the cause if the host is down, or nil.
func (to *host) isDown() error {
	to.mu.Lock()
	defer to.mu.Unlock()
	if time.Now().Before(to.down) {
		return fmt.Errorf("%w, at last with: %w", ErrDown, to.cause)
	}
	return nil
}

// allowed returns an error if the robots.txt of the host disallows u.
func (h *hosts) allowed(ctx context.Context, to *host, u *url.URL) error {
	to.robotsMu.Lock()
	defer to.robotsMu.Unlock()
	if to.robots == nil || time.Since(to.robotsAt) > robotsAge {
		group, err := h.readRobots(ctx, to, u)
		switch {
		case errors.Is(err, ErrInternal): // which is so for each request to the host
			return fmt.Errorf("robots.txt: %w", err)
		case err != nil:
			return fmt.Errorf("robots.txt cannot be read, so nothing of the host may be requested (RFC 9309): %w", err)
		}
		to.robots, to.robotsAt = group, time.Now()
		if delay := min(group.CrawlDelay, maxCrawlDelay); delay > 0 {
			to.limiter.SetLimit(min(to.limiter.Limit(), rate.Every(delay)))
		}
	}
	path := u.EscapedPath()
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	if path == "" {
		path = "/"
	}
	if !to.robots.Test(path) {
		return fmt.Errorf("%s: %w", u, ErrDisallowed)
	}
	return nil
}

// readRobots returns the rules for us. If the server fails, everything is disallowed, and
// if it refuses or has no robots.txt, everything is allowed (RFC 9309, section 2.3.1). Redirects
// are followed, also to other hosts, as far as their addresses are allowed.
func (h *hosts) readRobots(ctx context.Context, to *host, u *url.URL) (*robotstxt.Group, error) {
	ctx = withKind(ctx, document)
	at := url.URL{Scheme: u.Scheme, Host: u.Host, Path: robotsPath}
	for range maxRedirects + 1 {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
		if err != nil {
			return nil, err
		}
		res, err := h.send(to, r)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.LimitReader(res.Body, maxRobots))
		res.Body.Close()
		if err != nil {
			return nil, err
		}
		if next, err := res.Location(); res.StatusCode/100 == 3 && err == nil {
			if next.Scheme != "http" && next.Scheme != "https" {
				return nil, errScheme
			}
			at, to = *next, h.host(next)
			continue
		}
		if res.StatusCode/100 == 5 || res.StatusCode == http.StatusTooManyRequests {
			return nil, newStatusError(res, at.String())
		}
		if res.StatusCode != http.StatusOK {
			text = nil
		}
		data, err := robotstxt.FromBytes(text)
		if err != nil {
			data, _ = robotstxt.FromBytes(nil) // unreadable lines are ignored
		}
		return data.FindGroup(h.product), nil
	}
	return nil, fmt.Errorf("redirects more than %d times", maxRedirects)
}

func (c *Client) pause(ctx context.Context, failures int) error {
	return background.Sleep(ctx, c.wait.Wait(failures, 0))
}
