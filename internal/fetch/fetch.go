// Package fetch sends the requests of a Destination: politely, and only to where they may
// go. Each host has limits of concurrency and rate, its robots.txt and Retry-After are
// obeyed, and internal addresses are not dialled.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/publicaddr"
	"github.com/resourcesync-go/resourcesync/internal/retry"
)

const (
	// idleTimeout limits the time without data from a server.
	idleTimeout = time.Minute

	// maxRedirects is the maximum number of redirects of a request.
	maxRedirects = 5
)

// Options are the limits of a Client. Zero values have no limit, unless stated.
type Options struct {
	// Trusted are hosts with their ports that may have internal addresses, because
	// the operator has named them. Allow are further networks.
	Trusted []string
	Allow   []netip.Prefix

	Rate        float64 // requests per second to a host
	Concurrency int     // concurrent requests to a host; 4 if zero

	// UserAgent is sent with requests, and its first word, up to a slash, is the
	// name that a robots.txt can use. If empty, "resourcesync" is used.
	UserAgent    string
	IgnoreRobots bool

	// Name names the copy in the User-Agent of requests to the hosts with ports in NameTo. Other
	// hosts do not get it, also not by redirects. It may be empty.
	Name   string
	NameTo []string

	// Attempts is the number of attempts of a request, or of those without progress of a
	// download; 4 if zero.
	Attempts int

	// Transport sends the requests instead of connections that are limited to public
	// addresses. It may be nil.
	Transport http.RoundTripper
}

// A Client sends requests. It is safe for concurrent use.
type Client struct {
	http  *http.Client
	hosts *hosts
	wait  retry.Policy

	attempts int
}

// New returns a Client.
func New(o Options) *Client {
	o.UserAgent = cmp.Or(o.UserAgent, "resourcesync")
	o.Concurrency = cmp.Or(o.Concurrency, 4)
	if o.Transport == nil {
		o.Transport = transport(&o)
	}
	h := newHosts(&o, o.Transport)
	return &Client{
		hosts: h, attempts: cmp.Or(o.Attempts, 4),
		wait: retry.Policy{First: time.Second / 2, Max: time.Minute},
		http: &http.Client{Transport: h, CheckRedirect: func(r *http.Request, via []*http.Request) error {
			switch {
			case len(via) > maxRedirects:
				return errors.New("redirects too often")
			case r.Method != via[0].Method:
				return errMethod
			}
			return nil
		}},
	}
}

// CloseIdle closes idle connections.
func (c *Client) CloseIdle() { (&http.Client{Transport: c.hosts.transport}).CloseIdleConnections() }

// transport returns a transport that dials only addresses that are allowed.
func transport(o *Options) *http.Transport {
	trusted := make(map[string]bool)
	for _, host := range o.Trusted {
		trusted[host] = true
	}
	guarded := &net.Dialer{Timeout: 30 * time.Second, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err == nil && !publicaddr.Allowed(ap.Addr(), o.Allow) {
			err = &InternalError{ap.Addr().Unmap()}
		}
		return err
	}}
	kinds := &kinds{allow: o.Allow, internal: make(map[string]bool)}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if trusted[address] {
				return kinds.dial(ctx, network, address)
			}
			return guarded.DialContext(ctx, network, address)
		},
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		TLSHandshakeTimeout:    30 * time.Second,
		ResponseHeaderTimeout:  idleTimeout,
		MaxIdleConnsPerHost:    o.Concurrency,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// kinds are the kinds of addresses that trusted hosts have: internal or public. A host keeps
// the kind of its first connection. Otherwise the owners of its name could let it lead to
// themselves first, and into our network later (DNS rebinding).
type kinds struct {
	allow []netip.Prefix

	mu       sync.Mutex
	internal map[string]bool // by host and port
}

func (k *kinds) dial(ctx context.Context, network, host string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 30 * time.Second, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		return k.check(host, address, false)
	}}
	conn, err := dialer.DialContext(ctx, network, host)
	if err != nil {
		return nil, err
	}
	if err := k.check(host, conn.RemoteAddr().String(), true); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// check returns an error if address is of a different kind than the first one of host. If
// keep is true and there is none, address is the first one.
func (k *kinds) check(host, address string, keep bool) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	internal := !publicaddr.Allowed(ap.Addr(), k.allow)
	k.mu.Lock()
	defer k.mu.Unlock()
	first, known := k.internal[host]
	if known && first != internal {
		return fmt.Errorf("%w: %s has changed to %s; to follow it, start again or allow its addresses", ErrInternal, host, address)
	}
	if keep {
		k.internal[host] = internal
	}
	return nil
}

// HostPort returns the host of u with its port, as in Options.Trusted.
func HostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// Get requests uri, and repeats the request if it fails for a reason that may pass. The
// status of the response is 200, 206 or, if header has a condition, 304.
func (c *Client) Get(ctx context.Context, uri string, header http.Header) (*http.Response, error) {
	for failures := 1; ; failures++ {
		res, err := c.get(ctx, uri, header)
		if err == nil {
			return res, nil
		}
		if failures == c.attempts || c.isFinal(ctx, err) || !passes(err) || ctx.Err() != nil {
			return nil, err
		}
		if err := c.pauseAfter(ctx, failures, err); err != nil {
			return nil, err
		}
	}
}

// isFinal reports whether a request is not repeated after a response of 503: a request for
// a package, or for a resource whose response states when to retry, if the caller does that
// itself or the time is long.
func (c *Client) isFinal(ctx context.Context, err error) bool {
	failed, ok := errors.AsType[*StatusError](err)
	if !ok || failed.Status != http.StatusServiceUnavailable {
		return false
	}
	switch kindOf(ctx) {
	case packaged:
		return true
	case resource:
		return !failed.Until.IsZero() && (patienceOf(ctx) != nil || time.Until(failed.Until) > maxPause)
	}
	return false
}

// pauseAfter waits after failures. A resource that asks for a time is not requested before.
func (c *Client) pauseAfter(ctx context.Context, failures int, err error) error {
	if failed, ok := errors.AsType[*StatusError](err); ok && kindOf(ctx) == resource {
		if err := background.Sleep(ctx, time.Until(failed.Until)); err != nil {
			return err
		}
	}
	return c.pause(ctx, failures)
}

// Do sends one request of any method, and returns the response with any status. Callers
// close its body.
func (c *Client) Do(r *http.Request) (*http.Response, error) {
	res, err := c.http.Do(r)
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = fmt.Errorf("%s: %w", r.URL, u.Err)
	}
	return res, err
}

func (c *Client) get(ctx context.Context, uri string, header http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, nil)
	if err != nil {
		return nil, err
	}
	if header != nil {
		r.Header = header.Clone()
	}
	res, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	switch res.StatusCode {
	case http.StatusOK, http.StatusPartialContent:
		return res, nil
	case http.StatusNotModified:
		if isOther(r.Header, res.Header) {
			res.Body.Close()
			r.Header.Del("If-Modified-Since")
			return c.get(ctx, uri, r.Header)
		}
		if isConditional(r.Header) { // otherwise there is nothing that is not modified
			return res, nil
		}
	}
	failed := newStatusError(res, uri)
	failed.Body, _ = io.ReadAll(io.LimitReader(res.Body, 4<<10)) // also so that the connection can be reused
	res.Body.Close()
	return nil, failed
}

func isConditional(h http.Header) bool {
	return h.Get("If-None-Match") != "" || h.Get("If-Modified-Since") != ""
}

// isOther reports whether an answer 304 says that the representation has another Last-Modified than the request: its time
// is before that, because a clock was set back or an older file has replaced a newer one.
func isOther(request, answer http.Header) bool {
	known, err := http.ParseTime(request.Get("If-Modified-Since"))
	now, err2 := http.ParseTime(answer.Get("Last-Modified"))
	return err == nil && err2 == nil && !now.Equal(known)
}

// passes reports whether a request with this error may succeed later.
func passes(err error) bool {
	if failed, ok := errors.AsType[*StatusError](err); ok {
		switch failed.Status {
		case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return false
	}
	return !errors.Is(err, ErrInternal) && !errors.Is(err, ErrDisallowed) && !errors.Is(err, ErrPaused) && !errors.Is(err, ErrDown) && !errors.Is(err, errScheme)
}
