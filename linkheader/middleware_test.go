package linkheader

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func prefix(path string) func(*url.URL) bool {
	return func(u *url.URL) bool { return strings.HasPrefix(u.Path, path) }
}

var covers = []Cover{
	{"https://example.org/1/capabilitylist.xml", prefix("/papers/")},
	{"https://example.org/2/capabilitylist.xml", prefix("/papers/open/")},
	{"https://example.org/3/capabilitylist.xml", prefix("/data/")},
}

const (
	link1 = `<https://example.org/1/capabilitylist.xml>; rel="resourcesync"`
	link2 = `<https://example.org/2/capabilitylist.xml>; rel="resourcesync"`
	link3 = `<https://example.org/3/capabilitylist.xml>; rel="resourcesync"`
)

func TestMiddleware(t *testing.T) {
	server := httptest.NewServer(Middleware(covers...)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("link") {
		case "add":
			w.Header().Add("Link", "<app>; rel=up")
		case "set":
			w.Header().Set("Link", "<app>; rel=up")
		}
		if r.URL.Query().Has("missing") {
			http.NotFound(w, r)
		}
	})))
	defer server.Close()
	tests := []struct {
		method, path string
		want         []string
	}{
		{"GET", "/papers/7", []string{link1}},
		{"HEAD", "/papers/7", []string{link1}},
		{"GET", "/papers/open/7", []string{link1, link2}},
		{"GET", "/data/", []string{link3}},
		{"GET", "/", nil},
		{"GET", "/paper", nil},
		{"HEAD", "/other/papers/", nil},
		{"POST", "/papers/7", nil},
		{"PUT", "/papers/7", nil},
		{"DELETE", "/papers/7", nil},
		{"OPTIONS", "/papers/7", nil},
		{"GET", "/papers/7?link=add", []string{link1, "<app>; rel=up"}},
		{"GET", "/papers/7?link=set", []string{"<app>; rel=up"}},
		{"GET", "/papers/7?missing", []string{link1}},
		{"GET", "/?link=add", []string{"<app>; rel=up"}},
	}
	for _, test := range tests {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), test.method, server.URL+test.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := server.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if got := resp.Header.Values("Link"); !slices.Equal(got, test.want) {
				t.Errorf("Link: %q, want %q", got, test.want)
			}
		})
	}
}

// Links of middleware further out are kept, and not written over: their slice
// may have room that every request shares.
func TestMiddlewareKeepsOuterLinks(t *testing.T) {
	shared := append(make([]string, 0, 4), "<outer>; rel=up")
	h := Middleware(covers...)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got, want := w.Header()["Link"], []string{"<outer>; rel=up", link1, link2}; !slices.Equal(got, want) {
			t.Errorf("Link: %q, want %q", got, want)
		}
		w.Header()["Link"][0] = "<corrupt>; rel=up"
	}))
	for range 2 {
		w := httptest.NewRecorder()
		w.Header()["Link"] = shared
		h.ServeHTTP(w, httptest.NewRequest("GET", "/papers/open/7", nil))
	}
	if got, want := shared[:4], []string{"<outer>; rel=up", "", "", ""}; !slices.Equal(got, want) {
		t.Errorf("the outer slice has become %q, want %q", got, want)
	}
}

// A handler that changes what it finds in its header changes that answer only.
func TestMiddlewareSharesNothing(t *testing.T) {
	h := Middleware(covers...)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := w.Header()["Link"]; !slices.Equal(got, []string{link1}) {
			t.Errorf("Link: %q, want %q", got, link1)
		}
		w.Header()["Link"][0] = "corrupt"
		_ = append(w.Header()["Link"], "corrupt")
	}))
	for range 2 {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/papers/7", nil))
	}
}

func TestMiddlewareMoreThanFourSets(t *testing.T) {
	var many []Cover
	var want []string
	for i := range 9 {
		uri := fmt.Sprintf("https://example.org/%d", i)
		many = append(many, Cover{uri, prefix("/")})
		want = append(want, Link{Target: uri, Rel: "resourcesync"}.String())
	}
	w := httptest.NewRecorder()
	Middleware(many...)(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if got := w.Header().Values("Link"); !slices.Equal(got, want) {
		t.Errorf("Link: %q, want %q", got, want)
	}
}

func TestMiddlewarePanics(t *testing.T) {
	for _, c := range []Cover{{}, {CapabilityList: "https://example.org/"}, {Covers: prefix("/")}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic for %v", c)
				}
			}()
			Middleware(c)
		}()
	}
}

// What the server's ResponseWriter can do, it can do behind the middleware, and
// the header is there even so.
func TestMiddlewareLeavesResponseWriterAlone(t *testing.T) {
	handlers := map[string]func(w http.ResponseWriter) error{
		"Flusher": func(w http.ResponseWriter) error {
			io.WriteString(w, "first ")
			w.(http.Flusher).Flush()
			_, err := io.WriteString(w, "second")
			return err
		},
		"ReaderFrom": func(w http.ResponseWriter) error {
			_, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader("first second"))
			return err
		},
		"ResponseController": func(w http.ResponseWriter) error {
			c := http.NewResponseController(w)
			if err := c.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
				return err
			}
			if err := c.EnableFullDuplex(); err != nil {
				return err
			}
			io.WriteString(w, "first second")
			return c.Flush()
		},
		"Hijacker": func(w http.ResponseWriter) error {
			conn, rw, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return err
			}
			defer conn.Close()
			return writeHijacked(conn, rw, w.Header())
		},
	}
	for name, handler := range handlers {
		t.Run(name, func(t *testing.T) {
			failed := make(chan error, 1)
			server := httptest.NewServer(Middleware(covers...)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				failed <- handler(w)
			})))
			defer server.Close()
			resp, err := server.Client().Get(server.URL + "/papers/7")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if err := <-failed; err != nil {
				t.Error(err)
			}
			if string(body) != "first second" {
				t.Errorf("body %q", body)
			}
			if got := resp.Header.Get("Link"); got != link1 {
				t.Errorf("Link: %q, want %q", got, link1)
			}
		})
	}
}

func writeHijacked(conn net.Conn, rw *bufio.ReadWriter, header http.Header) error {
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	io.WriteString(rw, "HTTP/1.1 200 OK\r\nConnection: close\r\n")
	if err := header.Write(rw); err != nil {
		return err
	}
	io.WriteString(rw, "\r\nfirst second")
	return rw.Flush()
}

func TestMiddlewareAllocates(t *testing.T) {
	h := Middleware(covers...)(noop)
	tests := []struct {
		method, path string
		most         float64
	}{
		{"GET", "/other", 0},
		{"POST", "/papers/7", 0},
		{"GET", "/papers/7", 0},
		{"HEAD", "/papers/open/7", 0},
	}
	for _, test := range tests {
		w, r := fresh{}, httptest.NewRequest(test.method, test.path, nil)
		if got := testing.AllocsPerRun(100, func() {
			clear(w)
			h.ServeHTTP(w, r)
		}); got > test.most {
			t.Errorf("%s %s: %v allocations, want at most %v", test.method, test.path, got, test.most)
		}
	}
}

var noop = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

// fresh is a ResponseWriter of nothing but a header.
type fresh http.Header

func (f fresh) Header() http.Header       { return http.Header(f) }
func (fresh) Write(p []byte) (int, error) { return len(p), nil }
func (fresh) WriteHeader(int)             {}

// shared is what a handler could set that cares for no other request.
var shared = []string{link1}

func BenchmarkMiddleware(b *testing.B) {
	h := Middleware(covers...)(noop)
	for _, bench := range []struct {
		name, path string
		handler    http.Handler
	}{
		{"bare", "/papers/7", noop},
		{"bare, sets a header", "/papers/7", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header()["Link"] = shared })},
		{"uncovered", "/other", h},
		{"covered", "/papers/7", h},
		{"covered twice", "/papers/open/7", h},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			w, r := fresh{}, httptest.NewRequest("GET", bench.path, nil)
			for b.Loop() {
				clear(w)
				bench.handler.ServeHTTP(w, r)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	value := link1 + `, </style.css>; rel=preload; as=style, <https://example.org/>; rel="canonical"; title*=UTF-8''%C3%A9`
	b.SetBytes(int64(len(value)))
	for b.Loop() {
		Parse(value)
	}
}

func BenchmarkAppendLink(b *testing.B) {
	b.ReportAllocs()
	l := Link{Target: "https://example.org/1/capabilitylist.xml", Rel: "resourcesync"}
	buf := make([]byte, 0, 256)
	for b.Loop() {
		buf = AppendLink(buf[:0], l)
	}
}
