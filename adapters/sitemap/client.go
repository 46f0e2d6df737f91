package sitemap

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/time/rate"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/retry"
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
	limiter   *rate.Limiter

	mu    sync.Mutex
	pause time.Time // no requests before, by Retry-After
}

func newClient(site *url.URL, o *Options) (*client, error) {
	c := &client{
		site: site, upstream: site, transport: cmp.Or(o.Transport, http.DefaultTransport), agent: o.UserAgent,
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
// fails after idleTimeout without data.
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
	if c.upstream != c.site {
		r.Header.Set("X-Forwarded-Host", c.site.Host)
		r.Header.Set("X-Forwarded-Proto", c.site.Scheme)
	}
	watchdog := time.AfterFunc(idleTimeout, cancel)
	res, err := c.transport.RoundTrip(r)
	if err != nil {
		watchdog.Stop()
		cancel()
		return nil, err
	}
	res.Body = &timeoutBody{res.Body, watchdog, cancel}
	c.recordRetryAfter(res)
	return res, nil
}

// wait waits until the next request may be sent.
func (c *client) wait(ctx context.Context) error {
	for {
		c.mu.Lock()
		rest := time.Until(c.pause)
		c.mu.Unlock()
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

// recordRetryAfter records the pause that the site requests.
func (c *client) recordRetryAfter(res *http.Response) {
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable {
		return
	}
	now := time.Now()
	if asked := retry.After(res.Header, now); asked > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.pause = now.Add(min(asked, maxRetryAfter))
	}
}

// A timeoutBody is a body whose Read fails after idleTimeout without data.
type timeoutBody struct {
	io.ReadCloser
	watchdog *time.Timer
	cancel   context.CancelFunc
}

// Read implements [io.Reader].
func (b *timeoutBody) Read(p []byte) (int, error) {
	b.watchdog.Reset(idleTimeout)
	n, err := b.ReadCloser.Read(p)
	b.watchdog.Stop()
	return n, err
}

// Close implements [io.Closer].
func (b *timeoutBody) Close() error {
	b.watchdog.Stop()
	err := b.ReadCloser.Close()
	b.cancel()
	return err
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
var errTooLarge = errors.New("is too large for a sitemap")

// maxSitemap is the maximum size, in bytes, of an uncompressed sitemap: slightly more
// than the 50 MB of the protocol.
const maxSitemap = 64 << 20

// get requests a document of the site and follows redirects within the site. The
// response is 200, or 304 if header has validators.
func (c *client) get(ctx context.Context, u *url.URL, header http.Header) (*http.Response, error) {
	for range maxRedirects {
		res, err := c.do(ctx, http.MethodGet, u, header.Clone())
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

// content returns the text of a document, decompressed if it is gzip. Reading more than
// limit bytes fails.
func content(r io.Reader, limit int64) (io.Reader, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	begin, err := br.Peek(2)
	if err != nil && err != io.EOF {
		return nil, err
	}
	var text io.Reader = br
	if len(begin) == 2 && begin[0] == 0x1f && begin[1] == 0x8b {
		if text, err = gzip.NewReader(br); err != nil {
			return nil, err
		}
	}
	return &limitedReader{text, limit}, nil
}

// A limitedReader is like io.LimitedReader, but fails at the limit.
type limitedReader struct {
	r    io.Reader
	left int64
}

// Read implements [io.Reader].
func (l *limitedReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

var _ resourcesync.Opener = (*Site)(nil)

// Open implements [resourcesync.Opener]: it requests the page from the site, within the
// rate limit of scans. If the page is no longer public, the error is fs.ErrNotExist.
// Open does not detect changed content: callers must verify the hashes of r.
func (s *Site) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
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
