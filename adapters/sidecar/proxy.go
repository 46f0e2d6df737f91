package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// ProxyOptions configure [NewProxy]. The zero value is a reasonable default.
type ProxyOptions struct {
	// Transport sends the requests. If nil, a transport made for one upstream
	// on the same machine or network is used: see [NewTransport].
	Transport http.RoundTripper

	// TrustedProxies are the addresses of proxies in front whose Forwarded,
	// X-Forwarded-* and X-Real-Ip headers are passed on. Those of all other clients
	// are removed or replaced.
	TrustedProxies []netip.Prefix

	// Logger receives the causes of 502 and 504 responses. If nil,
	// slog.Default() is used.
	Logger *slog.Logger
}

// NewProxy returns a reverse proxy to upstream, the URL of a web server without
// a path: http, https, or h2c for HTTP/2 without TLS. Every request has the host
// of site, the public URL of the website, because most content management systems
// redirect requests for any other host.
//
// Method, path and query are passed on byte for byte, as are headers, bodies and
// trailers in both directions, informational responses, upgrades and event
// streams. The exceptions are those of HTTP itself: hop-by-hop headers end here
// (RFC 9110, section 7.6.1), and header names are in canonical case. The upstream
// sees X-Forwarded-For, X-Forwarded-Host and X-Forwarded-Proto. Headers that name a
// client are removed unless a trusted proxy sent them.
//
// A request that the upstream cannot answer gets 502, or 504 if the transport's
// time limit has passed: see [NewTransport]. If a response breaks off, so does the one
// to the client. CONNECT gets 405, and an upgrade to h2c is not passed on: both would
// open a tunnel past the proxy.
//
// An upload has no time limit as a whole, but the client must send some of it every
// minute. If the upstream answers before it has read all of the body, the response
// closes the client's connection.
func NewProxy(upstream, site string, o *ProxyOptions) (http.Handler, error) {
	target, err := parseUpstream(upstream)
	if err != nil {
		return nil, err
	}
	public, err := url.Parse(site)
	if err != nil || public.Host == "" {
		return nil, fmt.Errorf("sidecar: site %q must be the public URL of the website, like https://example.org/", site)
	}
	if o == nil {
		o = &ProxyOptions{}
	}
	p := &proxy{
		upstream: target,
		host:     public.Host,
		trusted:  o.TrustedProxies,
		log:      o.Logger,
	}
	if p.log == nil {
		p.log = slog.Default()
	}
	transport := o.Transport
	if transport == nil {
		transport = NewTransport(upstream, site)
	}
	p.reverse = &httputil.ReverseProxy{
		Rewrite:       p.rewrite,
		Transport:     transport,
		FlushInterval: flushInterval,
		BufferPool:    &buffers,
		ErrorHandler:  p.fail,
		ErrorLog:      slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
	}
	return p, nil
}

// flushInterval is how long a part of a response may wait in a buffer for the next
// one. ReverseProxy flushes event streams and other responses of unknown length at
// once, whatever the interval. Flushing all others at once would cost a goroutine
// and a packet for each.
const flushInterval = 5 * time.Millisecond

func parseUpstream(upstream string) (*url.URL, error) {
	u, err := url.Parse(upstream)
	switch {
	case err != nil:
		return nil, fmt.Errorf("sidecar: upstream: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "h2c" || u.Host == "":
		return nil, fmt.Errorf("sidecar: upstream %q must be like http://127.0.0.1:8000, with http, https or h2c", upstream)
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, fmt.Errorf("sidecar: upstream %q must have neither a path, a query nor a user: paths are passed on as they are", upstream)
	}
	if u.Scheme == "h2c" {
		u.Scheme = "http"
	}
	u.Path = ""
	return u, nil
}

// A proxy is a reverse proxy for one site.
type proxy struct {
	upstream *url.URL
	host     string // of the site
	trusted  []netip.Prefix
	reverse  *httputil.ReverseProxy
	log      *slog.Logger
	failures sparse.Log
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		http.Error(w, "CONNECT is not allowed here.", http.StatusMethodNotAllowed)
		return
	}
	final := newFinalWriter(w)
	if r.ContentLength != 0 {
		// The upstream may answer before it has read all of the request.
		c := http.NewResponseController(w)
		_ = c.EnableFullDuplex()
		up := newUpload(r.Body, c)
		defer up.end()
		final.upload, final.closable = up, r.ProtoMajor == 1
		patient := *r
		patient.Body = up
		r = &patient
	}
	completed := false
	defer func() {
		if !completed && final.wrote {
			// The client gets as much of a broken response as has come.
			_ = http.NewResponseController(w).Flush()
		}
	}()
	p.reverse.ServeHTTP(final, r)
	completed = true
}

// rewrite makes the request that goes to the upstream.
func (p *proxy) rewrite(r *httputil.ProxyRequest) {
	u := r.Out.URL
	u.Scheme, u.Host = p.upstream.Scheme, p.upstream.Host
	r.Out.Host = p.host
	// ReverseProxy drops query parameters that Go cannot parse, and URL
	// escapes characters that the client did not.
	u.RawQuery, u.ForceQuery = r.In.URL.RawQuery, r.In.URL.ForceQuery
	if path, _, _ := strings.Cut(r.In.RequestURI, "?"); isVerbatim(path) {
		u.Opaque = path
	}
	if strings.Contains(strings.ToLower(r.Out.Header.Get("Upgrade")), "h2c") {
		// Over such a connection a client could send the upstream any request,
		// with X-Forwarded-* headers of its choice. RFC 9113 has no such upgrade.
		r.Out.Header.Del("Connection")
		r.Out.Header.Del("Upgrade")
		r.Out.Header.Del("Http2-Settings")
	}
	// The values are those of the inbound request once its body has been read.
	r.Out.Trailer = r.In.Trailer
	p.setForwarded(r)
}

// isVerbatim reports whether path can be sent as it is: [url.URL.Opaque] would
// make a host of what follows two slashes.
func isVerbatim(path string) bool {
	return path == "*" || strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//")
}

// fail answers a request that the upstream did not answer.
func (p *proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the client has gone
	}
	status := http.StatusBadGateway
	if isTimeout(err) {
		status = http.StatusGatewayTimeout
	}
	p.failures.Log(r.Context(), p.log, slog.LevelWarn, "upstream did not answer",
		slog.String("method", r.Method), slog.Int("status", status), slog.Any("error", err))
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "The website does not answer: "+http.StatusText(status)+".\n")
}

func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	netErr, ok := errors.AsType[net.Error](err)
	return ok && netErr.Timeout()
}

// A bufferPool lends the buffers that bodies are copied with.
type bufferPool struct{ pool sync.Pool }

const bufferSize = 32 << 10

var buffers = bufferPool{sync.Pool{New: func() any { return new([bufferSize]byte) }}}

func (b *bufferPool) Get() []byte { return b.pool.Get().(*[bufferSize]byte)[:] }

func (b *bufferPool) Put(p []byte) { b.pool.Put((*[bufferSize]byte)(p)) }
