package sidecar

import (
	"cmp"
	"context"
	"crypto/tls"
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

	"golang.org/x/net/http/httpguts"

	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// ProxyOptions are the optional arguments of [NewProxy].
type ProxyOptions struct {
	// Transport sends the requests. If nil, the result of [NewTransport] is used.
	Transport http.RoundTripper

	// TrustedProxies are the addresses of the proxies whose Forwarded,
	// X-Forwarded-* and X-Real-Ip headers are passed on. Those of all other clients
	// are removed or replaced.
	TrustedProxies []netip.Prefix

	// Logger receives the causes of 502 and 504 responses. If nil,
	// slog.Default() is used.
	Logger *slog.Logger
}

// NewProxy returns a reverse proxy to upstream, the URL of a web server without a path.
// Its scheme is http, https, or h2c for HTTP/2 without TLS. Every request has the host of
// site, the public URL of the website, because most content management systems redirect
// requests for other hosts.
//
// The proxy passes on method, path and query byte for byte. It also passes on headers,
// bodies and trailers in both directions, informational responses, upgrades and event
// streams. HTTP itself requires two exceptions: hop-by-hop headers are removed (RFC 9110,
// section 7.6.1), and header names are in canonical case. The upstream receives
// X-Forwarded-For, X-Forwarded-Host and X-Forwarded-Proto. Headers that name a client are
// removed unless a trusted proxy sent them.
//
// If the upstream does not answer, the response is 502, or 504 after a time-out of the
// transport; see [NewTransport]. If a response is aborted, so is the response to the
// client. CONNECT is answered 405, and an upgrade to h2c is not passed on, because both
// would open a tunnel past the proxy.
//
// An upload may take any time, but must make progress every minute. If the upstream
// answers before it has read the complete body, the proxy closes the connection to the
// client after the response.
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
		log:      cmp.Or(o.Logger, slog.Default()),
	}
	transport := o.Transport
	if transport == nil {
		transport = NewTransport(upstream, site)
	}
	p.reverse = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		ModifyResponse: checkStatus,
		Transport:      linkingTransport{transport},
		FlushInterval:  flushInterval,
		BufferPool:     &buffers,
		ErrorHandler:   p.fail,
		ErrorLog:       slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
	}
	return p, nil
}

// checkStatus refuses a final response with a status that HTTP does not have: net/http reads one
// such as 000, but panics when it is written.
func checkStatus(res *http.Response) error {
	if res.StatusCode < 200 && res.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("the status %q is invalid", res.Status)
	}
	return nil
}

// flushInterval is the maximum time that a part of a response waits in a buffer for the
// next one. ReverseProxy always flushes event streams and other responses of unknown
// length at once. Flushing the others at once would cost a goroutine and a packet each.
const flushInterval = 5 * time.Millisecond

func parseUpstream(upstream string) (*url.URL, error) {
	u, err := url.Parse(upstream)
	switch {
	case err != nil:
		return nil, fmt.Errorf("sidecar: upstream: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "h2c" || u.Host == "":
		return nil, fmt.Errorf("sidecar: upstream %q must be like http://127.0.0.1:8000, with http, https or h2c", upstream)
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, fmt.Errorf("sidecar: upstream %q must not contain a path, query or userinfo: request paths are passed on unchanged", u.Redacted())
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
	final := newFinalWriter(w, r.Method)
	if r.ContentLength != 0 {
		// The upstream may answer before it has read all of the request.
		c := http.NewResponseController(w)
		_ = c.EnableFullDuplex()
		up := newUpload(r.Body, c)
		defer up.end()
		final.upload, final.closable = up, r.ProtoMajor == 1
		final.continues = httpguts.HeaderValuesContainsToken(r.Header["Expect"], "100-continue")
		patient := *r
		patient.Body = up
		r = &patient
	}
	completed := false
	defer func() {
		if !completed && final.wrote {
			// Send the received part of an aborted response.
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
	// The map is filled when the body of the inbound request has been read.
	r.Out.Trailer = r.In.Trailer
	p.setForwarded(r)
}

// isVerbatim reports whether path can be sent unchanged. [url.URL.Opaque] would read
// the text after two slashes as a host.
func isVerbatim(path string) bool {
	return path == "*" || strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//")
}

// fail answers a request that the upstream did not answer.
func (p *proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the client has left
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

// A bufferPool is a pool of the buffers for copying bodies.
type bufferPool struct{ pool sync.Pool }

const bufferSize = 32 << 10

var buffers = bufferPool{sync.Pool{New: func() any { return new([bufferSize]byte) }}}

func (b *bufferPool) Get() []byte { return b.pool.Get().(*[bufferSize]byte)[:] }

func (b *bufferPool) Put(p []byte) { b.pool.Put((*[bufferSize]byte)(p)) }

// NewTransport returns the transport that [NewProxy] uses by default for an upstream of a
// site, for hosts that want to modify it. It keeps enough idle connections for one busy
// upstream, closes them before common web servers do, adds no Accept-Encoding, and
// ignores the proxies of the environment. It waits five minutes for the header of a
// response after the request is sent. For an upstream with the scheme h2c it uses HTTP/2
// only. The certificate of an https upstream must be valid for its name or, if the
// upstream is an IP address, for the name of the site.
func NewTransport(upstream, site string) *http.Transport {
	t := &http.Transport{
		DialContext: (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		// net/http keeps two per host, so most requests of a busy proxy would
		// need a new connection.
		MaxIdleConns:        1024,
		MaxIdleConnsPerHost: 1024,
		// Apache closes idle connections after five seconds. A request sent at that
		// moment fails unless it can be repeated.
		IdleConnTimeout:        4 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  5 * time.Second,
		ResponseHeaderTimeout:  5 * time.Minute, // for slow reports and long polling
		MaxResponseHeaderBytes: 1 << 20,
		DisableCompression:     true,
		Protocols:              new(http.Protocols),
	}
	to, err := url.Parse(upstream)
	public, siteErr := url.Parse(site)
	if err == nil && siteErr == nil && net.ParseIP(to.Hostname()) != nil {
		t.TLSClientConfig = &tls.Config{ServerName: public.Hostname()}
	}
	if strings.HasPrefix(upstream, "h2c:") {
		t.Protocols.SetUnencryptedHTTP2(true)
	} else {
		t.Protocols.SetHTTP1(true)
		t.Protocols.SetHTTP2(true)
	}
	return t
}
