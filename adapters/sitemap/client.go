package sitemap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/webclient"
)

const (
	// idleTimeout limits the time without data from the site, and requestTimeout
	// the total time of a request.
	idleTimeout    = 30 * time.Second
	requestTimeout = 10 * time.Minute

	// maxRedirects is the maximum number of redirects to a sitemap. Redirects of
	// pages are not followed.
	maxRedirects = 5

	// maxRetryAfter is the longest pause that a site can request. During a pause
	// that lasts longer than maxWait, requests fail instead of waiting.
	maxRetryAfter = time.Minute
	maxWait       = 5 * time.Second
)

// A client sends requests to one site, without credentials and at a limited rate.
type client struct {
	site      *url.URL
	upstream  *url.URL
	transport http.RoundTripper
	agent     string
	stranger  Stranger
	limiter   *rate.Limiter

	pause webclient.Pause
}

func newClient(site *url.URL, o *Options) (*client, error) {
	c := &client{
		site: site, upstream: site, transport: cmp.Or(o.Transport, http.DefaultTransport), agent: o.UserAgent, stranger: o.Stranger,
		limiter: rate.NewLimiter(rate.Limit(o.Rate), max(1, int(o.Rate))),
	}
	if o.Upstream != "" {
		u, err := url.Parse(o.Upstream)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("sitemap: upstream %q must be like http://127.0.0.1:8000", o.Upstream)
		}
		if u.Scheme == "h2c" {
			u.Scheme = "http"
		}
		c.upstream = u
	}
	return c, nil
}

// do sends one request and does not follow redirects. Reading the body of the response
// fails after idleTimeout without progress.
func (c *client) do(ctx context.Context, method string, u *url.URL, header http.Header) (*http.Response, error) {
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, errors.New("took too long"))
	to := *u
	to.Scheme, to.Host = c.upstream.Scheme, c.upstream.Host
	r, err := http.NewRequestWithContext(ctx, method, to.String(), nil)
	if err != nil {
		cancel()
		return nil, err
	}
	if header != nil {
		r.Header = header
	}
	r.Host = c.site.Host
	r.Header.Set("User-Agent", c.agent)
	if ctx.Value(asItself{}) == nil {
		c.stranger.set(r.Header, c.site)
	}
	if c.upstream != c.site {
		r.Header.Set("X-Forwarded-Host", c.site.Host)
		r.Header.Set("X-Forwarded-Proto", c.site.Scheme)
	}
	watchdog := time.AfterFunc(idleTimeout, cancel)
	res, err := c.transport.RoundTrip(r)
	if !watchdog.Stop() && err != nil {
		err = fmt.Errorf("sent nothing for %v: %w", idleTimeout, os.ErrDeadlineExceeded)
	}
	if err != nil {
		cancel()
		return nil, webclient.Explain(err, "the website "+c.upstream.Redacted(), "start it, or correct its address (upstream)")
	}
	res.Body = webclient.NewBody(res.Body, idleTimeout, cancel, cancel)
	c.pause.Record(res, maxRetryAfter)
	return res, nil
}

// wait waits until the next request may be sent.
func (c *client) wait(ctx context.Context) error {
	for {
		rest := c.pause.Rest()
		if rest <= 0 {
			return c.limiter.Wait(ctx)
		}
		if rest > maxWait {
			return errPaused
		}
		if err := background.Sleep(ctx, rest); err != nil {
			return err
		}
	}
}

// errPaused means that requests to the site are paused.
var errPaused = errors.New("has requested a pause (Retry-After)")

// A statusError is a response with an unexpected status.
type statusError struct {
	status   int
	location string
}

func (e *statusError) Error() string {
	text := "answered " + strconv.Itoa(e.status) + " " + http.StatusText(e.status)
	if e.location != "" {
		text += " to " + e.location
	}
	return text
}

// errTooLarge means that a document exceeds its limit.
var errTooLarge = errors.New("is too large")

// maxSitemap is the maximum size, in bytes, of an uncompressed sitemap: slightly more
// than the 50 MB of the protocol.
const maxSitemap = 64 << 20

// get requests a document of the site and follows redirects within the site. The
// response is 200, or 304 if header has validators.
func (c *client) get(ctx context.Context, u *url.URL, header http.Header) (*http.Response, error) {
	return c.follow(ctx, http.MethodGet, u, header)
}

// follow is like get, with any method.
func (c *client) follow(ctx context.Context, method string, u *url.URL, header http.Header) (*http.Response, error) {
	for range maxRedirects {
		res, err := c.do(ctx, method, u, header.Clone())
		if err != nil {
			return nil, err
		}
		if res.StatusCode == http.StatusOK || res.StatusCode == http.StatusNotModified {
			return res, nil
		}
		res.Body.Close()
		location := res.Header.Get("Location")
		failed := &statusError{res.StatusCode, location}
		if res.StatusCode/100 != 3 || location == "" {
			return nil, failed
		}
		next, err := u.Parse(location)
		if err != nil || !strings.EqualFold(next.Host, c.site.Host) {
			return nil, failed
		}
		u = next
	}
	return nil, errors.New("redirects too often")
}

var _ resourcesync.Opener = (*Site)(nil)

// Open implements [resourcesync.Opener]: it requests the page from the site, within the
// rate limit of scans. If the page is no longer public, the error is fs.ErrNotExist.
// Open does not detect changed content: callers must verify the hashes of r.
func (s *Site) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	if s.Hidden() != nil {
		return nil, resourcesync.ErrNotReady
	}
	u, err := url.Parse(r.URI)
	if err != nil {
		return nil, fmt.Errorf("sitemap: %w", err)
	}
	if _, ok := s.key(u); !ok {
		return nil, fmt.Errorf("sitemap: %s does not belong to the site: %w", r.URI, fs.ErrNotExist)
	}
	res, err := s.client.do(ctx, http.MethodGet, u, http.Header{"Accept-Encoding": {"identity"}})
	if err != nil {
		return nil, fmt.Errorf("sitemap: %w", err)
	}
	if res.StatusCode == http.StatusOK {
		return res.Body, nil
	}
	res.Body.Close()
	if isRefusal(res.StatusCode) || isRedirect(res.StatusCode) {
		return nil, fmt.Errorf("sitemap: %s answered %d: %w", r.URI, res.StatusCode, fs.ErrNotExist)
	}
	return nil, &statusError{status: res.StatusCode}
}
