package sidecar_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// An exchange is a request, as sent over the wire, and the reason why its response may
// differ from the website's own.
type exchange struct {
	name    string
	request string
	differs string // why; empty if it must not
}

// TestTransparency sends the same bytes to a website and to a proxy in front of it, and
// compares the responses: informational responses, status, header, body and trailers.
func TestTransparency(t *testing.T) {
	site := httptest.NewUnstartedServer(http.HandlerFunc(website))
	site.Config.DisableGeneralOptionsHandler = true
	site.Start()
	defer site.Close()
	odd := rawWebsite(t)

	exchanges := slices.Concat(methodsAndPaths(), requestHeaders(), conditions(), bodies())
	direct := map[string]string{"site": site.Listener.Addr().String(), "odd": odd}
	proxied := map[string]string{}
	for name, address := range direct {
		proxied[name] = startProxy(t, "http://"+address)
	}
	n := 0
	compare := func(of string, e exchange) {
		n++
		t.Run(of+" "+e.name, func(t *testing.T) {
			want, got := answer(t, direct[of], e.request), answer(t, proxied[of], e.request)
			same := want.String() == got.String()
			switch {
			case !same && e.differs == "":
				t.Errorf("request %.300q\nwithout the proxy\n%s\nwith it\n%s", e.request, want, got)
			case same && e.differs != "":
				t.Errorf("no longer differs (%s)", e.differs)
			}
		})
	}
	for _, e := range exchanges {
		compare("site", e)
	}
	for _, e := range oddResponses() {
		compare("odd", e)
	}
	if n < 150 {
		t.Errorf("%d exchanges", n)
	}
	t.Logf("%d exchanges", n)
}

func startProxy(t testing.TB, upstream string) string {
	t.Helper()
	proxy, err := sidecar.NewProxy(upstream, "http://site.example/", &sidecar.ProxyOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(proxy)
	server.Config.DisableGeneralOptionsHandler = true
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	server.Start()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// A response is the response of an exchange.
type response struct {
	informational []string
	status        int
	header        http.Header
	length        int64
	body          []byte
	broken        bool // broken off
	trailer       http.Header
}

func (r *response) String() string {
	if r.broken && len(r.body) == 0 {
		return "broken off before the body" // with or without a header
	}
	var b strings.Builder
	fmt.Fprintln(&b, r.informational, r.status, "length", r.length, "broken", r.broken)
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		fmt.Fprintf(&b, "%s: %q\n", name, r.header[name])
	}
	fmt.Fprintf(&b, "%d bytes, %.500q\n", len(r.body), r.body)
	for _, name := range slices.Sorted(maps.Keys(r.trailer)) {
		fmt.Fprintf(&b, "trailer %s: %q\n", name, r.trailer[name])
	}
	return b.String()
}

// answer sends a request and reads the response. It leaves out Date, which always
// differs, and Connection, which is about a single connection.
func answer(t testing.TB, address, request string) *response {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(needs.Patience))
	head, body, _ := strings.Cut(request, "\r\n\r\n")
	go func() {
		_, _ = io.WriteString(conn, head+"\r\n\r\n")
		_, _ = io.WriteString(conn, body)
	}()
	method, _, _ := strings.Cut(request, " ")
	br := bufio.NewReader(conn)
	out := new(response)
	for {
		res, err := http.ReadResponse(br, &http.Request{Method: method})
		if err != nil {
			out.broken = true
			return out
		}
		res.Header.Del("Date")
		res.Header.Del("Connection")
		if res.StatusCode < 200 && res.StatusCode != http.StatusSwitchingProtocols {
			out.informational = append(out.informational, fmt.Sprint(res.StatusCode, res.Header))
			continue
		}
		out.status, out.header, out.length = res.StatusCode, res.Header, res.ContentLength
		if res.StatusCode == http.StatusSwitchingProtocols {
			out.body, _ = br.ReadBytes('\n')
			return out
		}
		out.body, err = io.ReadAll(res.Body)
		out.broken = err != nil
		out.trailer = res.Trailer
		return out
	}
}

func get(target string, headers ...string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: site.example\r\n" + strings.Join(append(headers, ""), "\r\n") + "\r\n"
}

// methodsAndPaths combines methods with targets that proxies tend to normalize.
func methodsAndPaths() (out []exchange) {
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "M-SEARCH", "QUERY"} {
		for _, target := range []string{"/echo", "/echo/../echo/./a", "//echo", "/echo//a/", "/echo/a%2Fb%2f%41", "/echo/%7Euser/~user", "/echo?a=b;c&d=%zz&e+f=%20+", "/echo?", "/echo/é|\"<>^`{}", "/echo/;p=1,2:@!$'()*", "/echo#fragment"} {
			out = append(out, exchange{method + " " + target, method + " " + target + " HTTP/1.1\r\nHost: site.example\r\nContent-Length: 0\r\n\r\n", ""})
		}
	}
	return append(out,
		exchange{"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: site.example\r\n\r\n", ""},
		exchange{"absolute form", "GET http://site.example/echo?a=b HTTP/1.1\r\nHost: site.example\r\n\r\n", "the upstream gets the path alone, as every server that is not a proxy does"},
		exchange{"HTTP/1.0", "GET /echo HTTP/1.0\r\nHost: site.example\r\n\r\n", "each hop has its own version of HTTP"},
		exchange{"CONNECT", "CONNECT site.example:443 HTTP/1.1\r\nHost: site.example:443\r\n\r\n", "a sidecar opens no tunnels: 405"},
		exchange{"long path", get("/echo/" + strings.Repeat("a", 8000)), ""},
		exchange{"another host", "GET /echo HTTP/1.1\r\nHost: other.example\r\n\r\n", "the upstream gets the public host"},
	)
}

func requestHeaders() []exchange {
	return []exchange{
		{"none", get("/headers"), ""},
		{"repeated", get("/headers", "X-A: 1", "X-A: 2", "x-b: c"), ""},
		{"cookies", get("/headers", "Cookie: a=b; c=d", "Cookie: e=f"), ""},
		{"odd names and values", get("/headers", "X_Under: 1", "X.Dot: é\x80", "X-Empty:", "!#$%&'*+-.^_`|~: token"), ""},
		{"user agent", get("/headers", "User-Agent: a (b) c/1"), ""},
		{"authorization", get("/headers", "Authorization: Basic YTpi", "Proxy-Authorization: Basic YTpi"), "Proxy-Authorization is hop by hop (RFC 9110, section 11.7.2)"},
		{"hop by hop", get("/headers", "Connection: keep-alive, X-Hop", "Keep-Alive: timeout=5", "X-Hop: 1"), "Connection and what it names end at each hop (RFC 9110, section 7.6.1)"},
		{"TE", get("/headers", "TE: trailers", "Connection: TE"), "Connection ends at each hop; TE: trailers goes on"},
		{"forwarded", get("/headers", "Forwarded: for=192.0.2.1", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https"), "only a trusted proxy may name its client"},
		{"accept-encoding", get("/headers", "Accept-Encoding: br;q=1, gzip;q=0"), ""},
		{"no accept-encoding", get("/compressed"), ""},
		{"gzip", get("/compressed", "Accept-Encoding: gzip"), ""},
		{"large header", get("/headers", "X-Large: "+strings.Repeat("x", 20_000)), ""},
		{"early hints", get("/hints"), ""},
		{"several early hints", get("/hints?n=3"), ""},
		{"processing", get("/hints?code=102"), ""},
		{"websocket", get("/upgrade", "Connection: Upgrade", "Upgrade: echo") + "hello\n", ""},
		{"upgrade to h2c", get("/headers", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"), "it would be a tunnel past the proxy"},
		{"refused upgrade", get("/headers", "Connection: Upgrade", "Upgrade: other"), ""},
	}
}

func conditions() (out []exchange) {
	for _, header := range []string{
		"Range: bytes=0-9", "Range: bytes=10-", "Range: bytes=-5", "Range: bytes=0-1,5-6", "Range: bytes=5000-", "Range: lines=1-2",
		"If-None-Match: \"v1\"", "If-None-Match: W/\"v1\"", "If-None-Match: *", "If-None-Match: \"v2\"", "If-Match: \"v2\"", "If-Match: \"v1\"",
		"If-Modified-Since: Fri, 02 Jan 2026 03:04:05 GMT", "If-Modified-Since: nonsense", "If-Unmodified-Since: Thu, 01 Jan 2026 00:00:00 GMT",
		"Range: bytes=0-9\r\nIf-Range: \"v1\"", "Range: bytes=0-9\r\nIf-Range: \"v2\"",
	} {
		// The boundary of a multipart response is random.
		differs := ""
		if strings.Contains(header, ",5-6") {
			differs = "the boundary is random"
		}
		out = append(out, exchange{header, get("/file", header), differs})
		out = append(out, exchange{"HEAD " + header, "HEAD" + strings.TrimPrefix(get("/file", header), "GET"), differs})
	}
	return out
}

func bodies() (out []exchange) {
	chunked := "3\r\nabc\r\n5;ext=1\r\ndefgh\r\n0\r\n"
	post := func(target, headers, body string) string {
		return "POST " + target + " HTTP/1.1\r\nHost: site.example\r\n" + headers + "\r\n" + body
	}
	large := strings.Repeat("0123456789abcdef", 20<<20/16)
	for _, code := range []int{200, 201, 202, 203, 204, 205, 206, 299, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 409, 410, 418, 429, 451, 500, 501, 503, 599, 999} {
		out = append(out, exchange{"status " + strconv.Itoa(code), get("/status?code=" + strconv.Itoa(code)), ""})
	}
	return append(out,
		exchange{"length", post("/echo", "Content-Length: 5\r\n", "hello"), ""},
		exchange{"chunked", post("/echo", "Transfer-Encoding: chunked\r\n", chunked+"\r\n"), ""},
		exchange{"request trailers", post("/echo", "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n", chunked+"X-Sum: 42\r\n\r\n"), ""},
		exchange{"GET with a body", "GET /echo HTTP/1.1\r\nHost: site.example\r\nContent-Length: 5\r\n\r\nhello", ""},
		exchange{"100-continue", post("/echo", "Content-Length: 5\r\nExpect: 100-continue\r\n", "hello"), ""},
		exchange{"100-continue refused", post("/status?code=417", "Content-Length: 5\r\nExpect: 100-continue\r\n", ""), ""},
		exchange{"answered before the body", post("/status?code=413", "Content-Length: 1000000\r\n", "part"), ""},
		exchange{"20 MB up", post("/count", "Content-Length: "+strconv.Itoa(len(large))+"\r\n", large), ""},
		exchange{"20 MB down", get("/large?n=20971520"), ""},
		exchange{"20 MB down, chunked", get("/large?n=20971520&chunked=1"), ""},
		exchange{"response trailers", get("/trailers", "TE: trailers"), ""},
		exchange{"unannounced trailers", get("/trailers?announce=no", "TE: trailers"), ""},
		exchange{"event stream", get("/events", "Accept: text/event-stream"), ""},
		exchange{"no content type", get("/untyped"), ""},
		exchange{"no content type, empty", get("/untyped?empty=1"), ""},
		exchange{"many cookies", get("/cookies"), ""},
		exchange{"links of its own", get("/links"), ""},
		exchange{"HEAD of unknown length", "HEAD /large?n=10&chunked=1 HTTP/1.1\r\nHost: site.example\r\n\r\n", ""},
		exchange{"HEAD of known length", "HEAD /large?n=1000 HTTP/1.1\r\nHost: site.example\r\n\r\n", ""},
		exchange{"dies in the body", get("/die?after=10000&length=20000"), ""},
		exchange{"dies in a chunked body", get("/die?after=10000"), ""},
	)
}

// website behaves as a CMS might.
func website(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	h := w.Header()
	number := func(name string) int { n, _ := strconv.Atoi(q.Get(name)); return n }
	switch path := r.URL.Path; {
	case strings.HasPrefix(strings.TrimLeft(path, "/"), "echo"), path == "*":
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %v\n%q %v %d %v\n", r.Method, r.RequestURI, r.Host, r.Proto == "HTTP/1.1", body, err, r.ContentLength, r.Trailer)
	case path == "/headers":
		_ = forwardedOf(r).Write(w)
	case path == "/compressed":
		h.Set("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("\x1f\x8b not really"))
			return
		}
		_, _ = io.WriteString(w, "plain")
	case path == "/hints":
		code := max(number("code"), 103*btoi(q.Get("code") == ""))
		for range max(1, number("n")) {
			h.Set("Link", "</style.css>; rel=preload")
			w.WriteHeader(code)
		}
		_, _ = io.WriteString(w, "done")
	case path == "/upgrade":
		upgrade(w)
	case path == "/file":
		h.Set("Etag", `"v1"`)
		http.ServeContent(w, r, "file.txt", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), strings.NewReader(strings.Repeat("0123456789", 100)))
	case path == "/status":
		h.Set("Location", "/elsewhere?a=b#c")
		h.Set("Www-Authenticate", "Basic realm=x")
		w.WriteHeader(number("code"))
		_, _ = io.WriteString(w, "status\n")
	case path == "/count":
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprintln(w, n, err)
	case path == "/large":
		if q.Get("chunked") == "" {
			h.Set("Content-Length", q.Get("n"))
		}
		_, _ = io.Copy(w, io.LimitReader(repeat("0123456789\n"), int64(number("n"))))
	case path == "/trailers":
		if q.Get("announce") == "" {
			h.Set("Trailer", "X-Sum")
		}
		_, _ = io.WriteString(w, "body")
		_ = http.NewResponseController(w).Flush()
		h.Set(http.TrailerPrefix+"X-More", "1")
		h.Set("X-Sum", "42")
	case path == "/events":
		h.Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
		}
	case path == "/untyped":
		h["Content-Type"] = nil
		if q.Get("empty") == "" {
			_, _ = io.WriteString(w, "<html>")
		}
	case path == "/cookies":
		for i := range 5 {
			h.Add("Set-Cookie", fmt.Sprintf("c%d=%d; Path=/", i, i))
		}
	case path == "/links":
		h.Add("Link", "</a>; rel=next")
		h.Add("Link", `</b>; rel="https://api.w.org/"`)
	case path == "/die":
		if q.Get("length") != "" {
			h.Set("Content-Length", q.Get("length"))
		}
		_, _ = io.WriteString(w, strings.Repeat("x", number("after")))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	default:
		http.NotFound(w, r)
	}
}

// forwardedOf returns the header of r without the fields that a proxy is expected to
// add.
func forwardedOf(r *http.Request) http.Header {
	h := r.Header.Clone()
	if h.Get("X-Forwarded-For") == "127.0.0.1" {
		h.Del("X-Forwarded-For")
		h.Del("X-Forwarded-Host")
		h.Del("X-Forwarded-Proto")
	}
	return h
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

type repeat string

func (r repeat) Read(p []byte) (n int, err error) {
	for n < len(p) {
		n += copy(p[n:], r)
	}
	return n, nil
}

func upgrade(w http.ResponseWriter) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	_ = rw.Flush()
	line, _ := rw.ReadString('\n')
	_, _ = io.WriteString(rw, "you said "+line)
	_ = rw.Flush()
}

// odd are responses that no Go server would write, by the path that requests them.
var odd = map[string]struct{ response, differs string }{
	"/reason":    {"HTTP/1.1 200 Everything Fine\r\nContent-Length: 2\r\n\r\nok", ""},
	"/1.0":       {"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end", ""},
	"/close":     {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\nuntil the end", ""},
	"/case":      {"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-ODD-case: 1\r\n\r\nok", ""},
	"/fold":      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Fold: a\r\n  b\r\n\r\nok", ""},
	"/latin":     {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Latin: \xE9\r\n\r\nok", ""},
	"/server":    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nServer: Apache\r\nX-Powered-By: PHP\r\nVia: 1.1 x\r\n\r\nok", ""},
	"/same":      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", ""},
	"/hints":     {"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nLink: </b>\r\n\r\nok", ""},
	"/304":       {"HTTP/1.1 304 Not Modified\r\nEtag: \"a\"\r\nContent-Length: 1234\r\n\r\n", "net/http sends no Content-Length with 304, where it is optional (RFC 9110, section 8.6)"},
	"/204":       {"HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n", ""},
	"/chunks":    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a=b\r\nx\r\n2\r\nyz\r\n0\r\nX-T: 1\r\n\r\n", ""},
	"/short":     {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nok", ""},
	"/long":      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more", ""},
	"/badchunk":  {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx", ""},
	"/nothing":   {"", "nothing at all is 502"},
	"/garbage":   {"garbage\r\n\r\n", "anything but HTTP is 502"},
	"/lengths":   {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!", "contradictory lengths are 502: a client and a cache could read them in two ways"},
	"/smuggling": {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", ""},
	"/control":   {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Bad: a\x01b\r\n\r\nok", "an invalid header is 502"},
}

func oddResponses() (out []exchange) {
	for _, path := range slices.Sorted(maps.Keys(odd)) {
		out = append(out, exchange{path, get(path), odd[path].differs})
	}
	return out
}

// rawWebsite answers with the responses of odd and returns its address.
func rawWebsite(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				tp := textproto.NewReader(bufio.NewReader(conn))
				line, _ := tp.ReadLine()
				_, _ = tp.ReadMIMEHeader()
				if _, rest, ok := strings.Cut(line, " "); ok {
					path, _, _ := strings.Cut(rest, " ")
					_, _ = io.Copy(conn, bytes.NewReader([]byte(odd[path].response)))
				}
			}()
		}
	}()
	return ln.Addr().String()
}
