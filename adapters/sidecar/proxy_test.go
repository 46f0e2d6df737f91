package sidecar_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
)

func newProxy(t testing.TB, upstream string, o *sidecar.ProxyOptions) http.Handler {
	t.Helper()
	if o == nil {
		o = &sidecar.ProxyOptions{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	proxy, err := sidecar.NewProxy(upstream, "https://example.org/", o)
	if err != nil {
		t.Fatal(err)
	}
	return proxy
}

func TestForwarded(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := r.Header
		fmt.Fprint(w, r.Host, " for=", h["X-Forwarded-For"], " host=", h["X-Forwarded-Host"], " proto=", h["X-Forwarded-Proto"], " ", h["Forwarded"])
		for _, name := range slices.Sorted(maps.Keys(h)) {
			if lower := strings.ToLower(name); strings.Contains(lower, "real") || strings.Contains(lower, "prefix") || strings.ContainsAny(lower, "_.") {
				fmt.Fprint(w, " ", name)
			}
		}
	}))
	defer upstream.Close()
	proxy := newProxy(t, upstream.URL, &sidecar.ProxyOptions{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}})
	claims := http.Header{
		"X-Forwarded-For":   {"203.0.113.9", "203.0.113.10"},
		"X-Forwarded-Host":  {"www.example.org"},
		"X-Forwarded-Proto": {"https"},
		"Forwarded":         {"for=203.0.113.9"},
	}
	aliases := http.Header{
		"X-Real-Ip":          {"203.0.113.9"},
		"X-Forwarded-Prefix": {"/admin"},
		"X_forwarded_for":    {"203.0.113.9"},
		"X-Forwarded_proto":  {"https"},
		"X_real_ip":          {"203.0.113.9"},
		"X.forwarded.host":   {"www.example.org"},
		"X_other":            {"stays"},
	}
	for _, tt := range []struct {
		name, from string
		header     http.Header
		want       string
	}{
		{"nothing said", "198.51.100.1:1", nil, "example.org for=[198.51.100.1] host=[example.org] proto=[http] []"},
		{"stranger", "198.51.100.1:1", claims, "example.org for=[198.51.100.1] host=[example.org] proto=[http] []"},
		{"stranger, aliases", "198.51.100.1:1", aliases, "example.org for=[198.51.100.1] host=[example.org] proto=[http] [] X_other"},
		{"trusted, aliases", "192.0.2.1:1", aliases, "example.org for=[192.0.2.1] host=[example.net] proto=[http] [] X-Forwarded-Prefix X-Real-Ip X_other"},
		{"trusted", "192.0.2.1:1", claims, "example.org for=[203.0.113.9, 203.0.113.10, 192.0.2.1] host=[www.example.org] proto=[https] [for=203.0.113.9]"},
		{"trusted, mapped", "[::ffff:192.0.2.1]:1", claims, "example.org for=[203.0.113.9, 203.0.113.10, ::ffff:192.0.2.1] host=[www.example.org] proto=[https] [for=203.0.113.9]"},
		{"trusted, IPv6", "[2001:db8::1]:1", nil, "example.org for=[2001:db8::1] host=[example.net] proto=[http] []"},
		{"no address", "@", claims, "example.org for=[] host=[example.org] proto=[http] []"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "http://example.net/", nil)
			r.RemoteAddr = tt.from
			for name, values := range tt.header {
				r.Header[name] = slices.Clone(values)
			}
			rec := httptest.NewRecorder()
			proxy.ServeHTTP(rec, r)
			if got := rec.Body.String(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestUpstreams(t *testing.T) {
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto, " ", r.TLS != nil) })
	plain := httptest.NewServer(site)
	defer plain.Close()
	secure := httptest.NewUnstartedServer(site)
	secure.EnableHTTP2 = true
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	secure.StartTLS()
	defer secure.Close()
	h2c := httptest.NewUnstartedServer(site)
	h2c.Config.Protocols = new(http.Protocols)
	h2c.Config.Protocols.SetUnencryptedHTTP2(true)
	h2c.Start()
	defer h2c.Close()
	trusting := sidecar.NewTransport(secure.URL, "https://example.org/")
	trusting.TLSClientConfig = &tls.Config{ServerName: "example.com", RootCAs: secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	for _, tt := range []struct {
		name, upstream string
		transport      http.RoundTripper
		want           string
	}{
		{"http", plain.URL, nil, "HTTP/1.1 false"},
		{"https", secure.URL, trusting, "HTTP/2.0 true"},
		{"certificate of nobody known", secure.URL, nil, "The website does not answer: Bad Gateway.\n"},
		{"h2c", strings.Replace(h2c.URL, "http:", "h2c:", 1), nil, "HTTP/2.0 false"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec := httptest.NewRecorder()
			newProxy(t, tt.upstream, &sidecar.ProxyOptions{Transport: tt.transport}).ServeHTTP(rec, httptest.NewRequest("GET", "http://example.org/", nil))
			if got := rec.Body.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	for _, bad := range []string{"", "127.0.0.1:80", "ftp://a", "http://", "http://a/b", "http://a?b", "http://u@a", "http://a/#b", "http://[::1"} {
		if _, err := sidecar.NewProxy(bad, "https://example.org/", nil); err == nil {
			t.Errorf("upstream %q is accepted", bad)
		}
	}
	if _, err := sidecar.NewProxy("http://127.0.0.1:1", "example.org", nil); err == nil {
		t.Error("a site without a host is accepted")
	}
}

// TestUpstreamFails: an upstream that does not answer leads to 502 or 504, and
// informational responses do not remove the links of the Source.
func TestUpstreamFails(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	down := "http://" + ln.Addr().String()
	ln.Close()
	stop := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stop }))
	defer slow.Close()
	defer close(stop)
	impatient := sidecar.NewTransport(slow.URL, "https://example.org/")
	if impatient.ResponseHeaderTimeout <= 0 {
		t.Error("the default transport waits forever")
	}
	impatient.ResponseHeaderTimeout = time.Millisecond
	for _, tt := range []struct {
		name  string
		proxy http.Handler
		want  int
	}{
		{"down", newProxy(t, down, nil), 502},
		{"slow", newProxy(t, slow.URL, &sidecar.ProxyOptions{Transport: impatient}), 504},
	} {
		rec := httptest.NewRecorder()
		tt.proxy.ServeHTTP(rec, httptest.NewRequest("GET", "http://example.org/", nil))
		if rec.Code != tt.want || rec.Header().Get("Cache-Control") != "no-store" || strings.Contains(rec.Body.String(), "127.0.0.1") {
			t.Errorf("%s: %d %v %s", tt.name, rec.Code, rec.Header(), rec.Body)
		}
	}
}

// TestWrap: a website has the documents of the Source, Link headers beside its own,
// and the sitemaps in its robots.txt.
func TestWrap(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hints" {
			w.Header().Set("Link", "</a.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Del("Link")
		}
		w.Header().Add("Link", "</next>; rel=next")
		fmt.Fprint(w, "page")
	}))
	defer upstream.Close()
	server := httptest.NewServer(sidecar.Wrap(newProxy(t, upstream.URL, nil), newSource(t), nil))
	defer server.Close()
	link := `<https://example.org/resourcesync/capabilitylist.xml>; rel="resourcesync"`
	for path, want := range map[string]struct {
		body  string
		links []string
	}{
		"/page":                     {"page", []string{link, "</next>; rel=next"}},
		"/hints":                    {"page", []string{link, "</next>; rel=next"}},
		"/.well-known/resourcesync": {"", nil},
	} {
		res, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != 200 || want.body != "" && string(body) != want.body || !slices.Equal(res.Header["Link"], want.links) {
			t.Errorf("%s: %s %q %q", path, res.Status, body, res.Header["Link"])
		}
	}
}

// TestInvalidStatus: a status that HTTP does not have leads to 502, and not to a panic.
func TestInvalidStatus(t *testing.T) {
	for _, status := range []string{"000", "001", "099"} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		go func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				conn.Read(make([]byte, 4096))
				fmt.Fprintf(conn, "HTTP/1.1 %s Nothing\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status)
				conn.Close()
			}
		}()
		for _, o := range []*sidecar.Options{nil, {HTMLLink: true}} {
			rec := httptest.NewRecorder()
			sidecar.Wrap(newProxy(t, "http://"+ln.Addr().String(), nil), newSource(t), o).ServeHTTP(rec, httptest.NewRequest("GET", "https://example.org/page", nil))
			if rec.Code != 502 {
				t.Errorf("%s becomes %d %s", status, rec.Code, rec.Body)
			}
		}
	}
}

// TestLinkOfResource: only responses with the resource, or responses that it has not changed, link
// to the Capability List. Links that the website sends pass.
func TestLinkOfResource(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.URL.Query().Get("status"))
		w.Header().Set("Link", "</next>; rel=next")
		w.WriteHeader(status)
	}))
	defer upstream.Close()
	for _, o := range []*sidecar.Options{nil, {HTMLLink: true}} {
		site := sidecar.Wrap(newProxy(t, upstream.URL, nil), newSource(t), o)
		for _, tt := range []struct {
			method string
			status int
			link   bool
		}{
			{"GET", 200, true}, {"HEAD", 200, true}, {"GET", 206, true}, {"HEAD", 206, true}, {"GET", 304, true}, {"HEAD", 304, true},
			{"GET", 404, false}, {"HEAD", 404, false}, {"GET", 500, false}, {"HEAD", 500, false}, {"GET", 302, false}, {"GET", 410, false}, {"GET", 416, false},
			{"POST", 200, false}, {"PUT", 201, false}, {"OPTIONS", 200, false}, {"GET", 204, false},
		} {
			rec := httptest.NewRecorder()
			site.ServeHTTP(rec, httptest.NewRequest(tt.method, fmt.Sprintf("https://example.org/page?status=%d", tt.status), nil))
			links := rec.Header()["Link"]
			own := slices.ContainsFunc(links, func(l string) bool { return strings.Contains(l, "capabilitylist.xml") })
			if rec.Code != tt.status || own != tt.link || !slices.Contains(links, "</next>; rel=next") {
				t.Errorf("%s %d: %d, Link %q", tt.method, tt.status, rec.Code, links)
			}
		}
	}
}

// TestWrapWriter: the website gets the ResponseWriter of the server, except for writes whose status
// Changed needs.
func TestWrapWriter(t *testing.T) {
	for _, o := range []*sidecar.Options{nil, {Changed: func(...*url.URL) {}}} {
		var got http.ResponseWriter
		h := sidecar.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { got = w }), newSource(t), o)
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT"} {
			w := &struct{ *httptest.ResponseRecorder }{httptest.NewRecorder()}
			h.ServeHTTP(w, httptest.NewRequest(method, "https://example.org/page", nil))
			watched := o != nil && (method == "POST" || method == "PUT")
			if same := got == http.ResponseWriter(w); same == watched {
				t.Errorf("%s, %+v: the website gets a %T", method, o, got)
			}
			if of, ok := got.(interface{ Unwrap() http.ResponseWriter }); watched && (!ok || of.Unwrap() != http.ResponseWriter(w)) {
				t.Errorf("%s: a %T leads to no other", method, got)
			}
		}
	}
}

// TestWrites: a successful write is reported with the URLs that it names.
func TestWrites(t *testing.T) {
	var mu sync.Mutex
	var got []string
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("to") != "" {
			w.Header().Set("Location", q.Get("to"))
		}
		switch q.Get("code") {
		case "":
		case "302":
			w.WriteHeader(302)
		case "403":
			w.WriteHeader(403)
		}
	})
	handler := sidecar.Wrap(site, newSource(t), &sidecar.Options{Changed: func(urls ...*url.URL) {
		mu.Lock()
		defer mu.Unlock()
		for _, u := range urls {
			got = append(got, u.String())
		}
	}})
	for _, tt := range []struct {
		method, target string
		want           []string
	}{
		{"GET", "/a", nil},
		{"HEAD", "/a", nil},
		{"OPTIONS", "/a", nil},
		{"PUT", "/a%2Fb?c", []string{"https://example.org/a%2Fb?c"}},
		{"DELETE", "/a", []string{"https://example.org/a"}},
		{"POST", "/posts?to=/posts/12%23x", []string{"https://example.org/posts?to=/posts/12%23x", "https://example.org/posts/12"}},
		{"POST", "/f?code=302&to=http://example.org/done", []string{"https://example.org/f?code=302&to=http://example.org/done", "https://example.org/done"}},
		{"POST", "/f?to=https://other.example/", []string{"https://example.org/f?to=https://other.example/"}},
		{"POST", "/f?code=403", nil},
		{"POST", "/resourcesync/capabilitylist.xml", nil},
	} {
		got = nil
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(tt.method, "http://127.0.0.1:8080"+tt.target, nil))
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s %s: %q, want %q", tt.method, tt.target, got, tt.want)
		}
	}
}

func TestPing(t *testing.T) {
	var got []string
	calls := 0
	ping := sidecar.Ping("secret", func(urls ...*url.URL) {
		calls++
		for _, u := range urls {
			got = append(got, u.String())
		}
	})
	many := strings.Repeat("url=https://example.org/a&", 1001)
	for _, tt := range []struct {
		name, method, auth, body string
		status                   int
		want                     []string
	}{
		{"all", "POST", "Bearer secret", "", 202, nil},
		{"urls", "POST", "bearer  secret", "url=https://example.org/a&url=https://example.org/b", 202, []string{"https://example.org/a", "https://example.org/b"}},
		{"no token", "POST", "", "", 401, nil},
		{"wrong token", "POST", "Bearer Secret", "", 401, nil},
		{"other scheme", "POST", "Basic secret", "", 401, nil},
		{"read", "GET", "Bearer secret", "", 405, nil},
		{"relative", "POST", "Bearer secret", "url=/a", 400, nil},
		{"too many", "POST", "Bearer secret", many, 400, nil},
		{"too large", "POST", "Bearer secret", "url=" + strings.Repeat("a", 70_000), 413, nil},
		{"no form", "POST", "Bearer secret", "a=%zz", 400, nil},
	} {
		got, calls = nil, 0
		r := httptest.NewRequest(tt.method, "/resourcesync/ping", strings.NewReader(tt.body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Authorization", tt.auth)
		rec := httptest.NewRecorder()
		ping.ServeHTTP(rec, r)
		if rec.Code != tt.status || !slices.Equal(got, tt.want) || (calls == 1) != (tt.status == 202) {
			t.Errorf("%s: %d %s, %q, %d calls", tt.name, rec.Code, rec.Body, got, calls)
		}
	}
}

// TestSlowBody: a part of a response of known length does not wait for the next one.
func TestSlowBody(t *testing.T) {
	received := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4")
		_, _ = io.WriteString(w, "ab")
		_ = http.NewResponseController(w).Flush()
		<-received
		_, _ = io.WriteString(w, "cd")
	}))
	defer site.Close()
	res, err := http.Get("http://" + startProxy(t, site.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	part := make([]byte, 2)
	if _, err := io.ReadFull(res.Body, part); err != nil || string(part) != "ab" {
		t.Errorf("%q %v", part, err)
	}
	close(received)
	if rest, err := io.ReadAll(res.Body); err != nil || string(rest) != "cd" {
		t.Errorf("%q %v", rest, err)
	}
}
