package wellknown

import (
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	sitemap = "https://example.org/resourcelist.xml"
	line    = "Sitemap: " + sitemap + "\n"
)

// behind serves app behind Robots.
func behind(t *testing.T, app http.HandlerFunc) *httptest.Server {
	server := httptest.NewServer(Robots([]string{sitemap})(app))
	t.Cleanup(server.Close)
	return server
}

// answering returns an app that answers everything in the same way. Header
// fields are written "Name: value".
func answering(status int, body string, fields ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, f := range fields {
			name, value, _ := strings.Cut(f, ": ")
			w.Header().Add(name, value)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func TestRobots(t *testing.T) {
	const text = "User-agent: *\nDisallow: /tmp/\n"
	const html = "<!DOCTYPE html><title>front page</title>"
	full := strings.Repeat("#", MaxRobots-1) + "\n"
	tests := []struct {
		name   string
		app    http.HandlerFunc
		status int
		body   string
		header map[string]string
	}{
		// Merged.
		{"plain text", answering(200, text, "Content-Type: text/plain"), 200, text + line,
			map[string]string{"Content-Type": "text/plain"}},
		{"with parameters", answering(200, text, "Content-Type: TEXT/Plain; charset=iso-8859-1"), 200, text + line,
			map[string]string{"Content-Type": "TEXT/Plain; charset=iso-8859-1"}},
		{"of no type", answering(200, text), 200, text + line,
			map[string]string{"Content-Type": "text/plain; charset=utf-8"}},
		{"empty", answering(200, ""), 200, line,
			map[string]string{"Content-Type": "text/plain; charset=utf-8"}},
		{"there already", answering(200, line), 200, line, nil},
		{"nothing said at all", func(http.ResponseWriter, *http.Request) {}, 200, line, nil},
		{"no status said", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, text) }, 200, text + line, nil},
		{"only the first status counts", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(200)
			w.WriteHeader(500)
			io.WriteString(w, text)
		}, 200, text + line, nil},
		{"as long as may be", answering(200, full), 200, full + line, nil},
		{"in small pieces", func(w http.ResponseWriter, r *http.Request) {
			for s := range strings.SplitSeq(text, "") {
				io.WriteString(w, s)
				w.(http.Flusher).Flush()
			}
		}, 200, text + line, nil},
		{"the rest of the header stays", answering(200, text, "Cache-Control: max-age=60", "Set-Cookie: a=b",
			`ETag: "app"`, "Last-Modified: Thu, 03 Jan 2013 09:00:00 GMT", fmt.Sprint("Content-Length: ", len(text)),
			"Content-Digest: x", "Repr-Digest: x", "Digest: x", "Content-MD5: x"),
			200, text + line, map[string]string{"Cache-Control": "max-age=60", "Set-Cookie": "a=b", "Last-Modified": "", "Outer": "kept",
				"Content-Digest": "", "Repr-Digest": "", "Digest": "", "Content-MD5": ""}},

		// Replaced.
		{"404", answering(404, html, "Content-Type: text/html", "Set-Cookie: a=b", "Content-Language: en"), 200, line,
			map[string]string{"Content-Type": "text/plain; charset=utf-8", "Set-Cookie": "", "Content-Language": "", "Outer": "kept"}},
		{"410", answering(410, ""), 200, line, nil},
		{"404 and then something else", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(404)
			w.WriteHeader(200)
			io.WriteString(w, text)
		}, 200, line, nil},
		{"http.NotFound", http.NotFound, 200, line, map[string]string{"X-Content-Type-Options": ""}},

		// Passed.
		{"403", answering(403, "no", "ETag: \"app\"", "Set-Cookie: a=b"), 403, "no", map[string]string{"ETag": `"app"`, "Set-Cookie": "a=b", "Outer": "kept"}},
		{"503", answering(503, text, "Content-Type: text/plain", "Retry-After: 5"), 503, text, map[string]string{"Retry-After": "5"}},
		{"204", answering(204, ""), 204, "", nil},
		{"302", answering(302, "", "Location: /elsewhere.txt"), 302, "", map[string]string{"Location": "/elsewhere.txt"}},
		{"HTML", answering(200, html, "Content-Type: text/html", "ETag: \"app\""), 200, html, map[string]string{"ETag": `"app"`}},
		{"HTML of no type", answering(200, html, "ETag: \"app\""), 200, html,
			map[string]string{"ETag": `"app"`, "Content-Type": "text/html; charset=utf-8"}},
		{"broken type", answering(200, text, "Content-Type: text/plain; charset"), 200, text, nil},
		{"UTF-16", answering(200, "\xff\xfea\x00\n\x00", "Content-Type: text/plain; charset=utf-16"), 200, "\xff\xfea\x00\n\x00", nil},
		{"UTF-16 of no type", answering(200, "\xff\xfea\x00\n\x00"), 200, "\xff\xfea\x00\n\x00", nil},
		{"encoded", answering(200, "gzipped", "Content-Type: text/plain", "Content-Encoding: x-test"), 200, "gzipped",
			map[string]string{"Content-Encoding": "x-test"}},
		{"longer than may be", answering(200, full+"#", "ETag: \"app\""), 200, full + "#", map[string]string{"ETag": `"app"`}},
		{"longer than may be, as stated", answering(200, full+"#", "ETag: \"app\"", fmt.Sprint("Content-Length: ", len(full)+1)), 200, full + "#",
			map[string]string{"ETag": `"app"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(outer(Robots([]string{sitemap})(test.app)))
			defer server.Close()
			server.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

			got := exchange(t, server, "GET", "/robots.txt", nil)
			if got.status != test.status || got.body != test.body {
				t.Errorf("%d %.300q\nwant %d %.300q", got.status, got.body, test.status, test.body)
			}
			for name, want := range test.header {
				if got := got.header.Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			ours := strings.HasSuffix(test.body, line)
			tag := got.header.Get("ETag")
			if ours && (tag == "" || tag == `"app"` || got.length != int64(len(test.body)) || len(got.header["Etag"]) != 1) {
				t.Errorf("ETag: %q, Content-Length: %d", got.header["Etag"], got.length)
			}

			head := exchange(t, server, "HEAD", "/robots.txt", nil)
			if head.status != test.status || head.body != "" || head.header.Get("ETag") != tag {
				t.Errorf("HEAD: %d %q", head.status, head.body)
			}
			delete(head.header, "Date")
			delete(got.header, "Date")
			if ours && !maps.EqualFunc(head.header, got.header, slices.Equal) {
				t.Errorf("header of HEAD\n%v\nof GET\n%v", head.header, got.header)
			}
			if ours {
				if got := exchange(t, server, "GET", "/robots.txt", http.Header{"If-None-Match": {tag}}); got.status != 304 || got.body != "" {
					t.Errorf("If-None-Match: %d %q, want 304", got.status, got.body)
				}
				if got := exchange(t, server, "GET", "/robots.txt", http.Header{"If-None-Match": {`"app"`}}); got.status != 200 || got.body != test.body {
					t.Errorf("If-None-Match of the app: %d %q, want 200", got.status, got.body)
				}
			}
		})
	}
}

// outer is middleware that changes every response.
func outer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Outer", "kept")
		next.ServeHTTP(w, r)
	})
}

// The app gets a request for the whole file, even if the client requests a part or
// another form of it, and does not notice the merge.
func TestRobotsAsksForTheWhole(t *testing.T) {
	asked := make(chan *http.Request, 1)
	server := behind(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r
		http.ServeContent(w, r, "robots.txt", time.Now(), strings.NewReader("User-agent: *\n"))
	})
	for _, method := range []string{"GET", "HEAD"} {
		got := exchange(t, server, method, "/robots.txt?q", http.Header{
			"If-Match": {"*"}, "If-None-Match": {`"x"`}, "If-Modified-Since": {"Thu, 03 Jan 2113 09:00:00 GMT"},
			"If-Unmodified-Since": {"Thu, 03 Jan 2013 09:00:00 GMT"}, "If-Range": {`"x"`}, "Range": {"bytes=0-3"},
			"Accept-Encoding": {"gzip"}, "Accept-Language": {"de"},
		})
		if got.status != 200 {
			t.Errorf("%s: %d, want 200", method, got.status)
		}
		r := <-asked
		if r.Method != "GET" || r.RequestURI != "/robots.txt?q" || r.URL.RawQuery != "q" {
			t.Errorf("%s became %s %s", method, r.Method, r.RequestURI)
		}
		if want := (http.Header{"Accept-Language": {"de"}, "User-Agent": r.Header["User-Agent"]}); fmt.Sprint(r.Header) != fmt.Sprint(want) {
			t.Errorf("header %v, want %v", r.Header, want)
		}
	}
	got := exchange(t, server, "GET", "/robots.txt", http.Header{"Range": {"bytes=-6"}})
	if want := ".xml\n"; got.status != 206 || !strings.HasSuffix(got.body, want) {
		t.Errorf("Range: %d %q, want 206 and the end of the merged file", got.status, got.body)
	}
}

// All other requests reach the app unchanged.
func TestRobotsLeavesTheRestAlone(t *testing.T) {
	type asked struct {
		w http.ResponseWriter
		r *http.Request
	}
	var got asked
	h := Robots([]string{sitemap})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = asked{w, r} }))
	for _, target := range []string{
		"GET /", "GET /robots.txt/", "GET /sub/robots.txt", "GET /ROBOTS.TXT", "GET //robots.txt",
		"POST /robots.txt", "PUT /robots.txt", "OPTIONS /robots.txt",
	} {
		method, path, _ := strings.Cut(target, " ")
		w, r := httptest.NewRecorder(), httptest.NewRequest(method, "http://example.org"+path, nil)
		h.ServeHTTP(w, r)
		if (got != asked{w, r}) {
			t.Errorf("%s: the app got another ResponseWriter or Request", target)
		}
		if n := testing.AllocsPerRun(10, func() { h.ServeHTTP(w, r) }); n != 0 {
			t.Errorf("%s: %v allocations, want none", target, n)
		}
	}

	got = asked{}
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/robots.txt", nil)
	Robots(nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = asked{w, r} })).ServeHTTP(w, r)
	if (got != asked{w, r}) {
		t.Error("no sitemaps, and still the app got another ResponseWriter or Request")
	}
}

// Responses that pass are streamed: the client gets the beginning while the app is
// still writing.
func TestRobotsStreams(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		begin  string
	}{
		{"another status", 403, "no"},
		{"too long", 200, strings.Repeat("#\n", MaxRobots)},
	} {
		t.Run(test.name, func(t *testing.T) {
			goOn := make(chan struct{})
			server := behind(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(test.status)
				io.WriteString(w, test.begin[:1])
				io.WriteString(w, test.begin[1:])
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Error(err)
				}
				<-goOn
				io.WriteString(w, "end")
			})
			resp, err := server.Client().Get(server.URL + "/robots.txt")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.ReadFull(resp.Body, make([]byte, len(test.begin))); err != nil {
				t.Error(err)
			}
			close(goOn)
			if end, err := io.ReadAll(resp.Body); err != nil || string(end) != "end" {
				t.Errorf("then %q, %v", end, err)
			}
		})
	}
}

// The app may be a site behind a reverse proxy, whose transport asks for gzip on
// its own and flushes what it decodes.
func TestRobotsOfAProxy(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("ETag", `"site"`)
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("Accept-Encoding: %q", r.Header["Accept-Encoding"])
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, "User-agent: *\n")
		z.Close()
	}))
	defer site.Close()
	target, err := url.Parse(site.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	got := exchange(t, behind(t, proxy.ServeHTTP), "GET", "/robots.txt", nil)
	if want := "User-agent: *\n" + line; got.status != 200 || got.body != want || got.header.Get("ETag") == `"site"` {
		t.Errorf("%d %q %v, want 200 %q", got.status, got.body, got.header, want)
	}
}

// If an app fails part-way, its response is not completed.
func TestRobotsOfAnAppThatFails(t *testing.T) {
	for name, app := range map[string]http.HandlerFunc{
		"aborted": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "User-agent")
			panic(http.ErrAbortHandler)
		},
		"shorter than stated": answering(200, "User-agent", "Content-Type: text/plain", "Content-Length: 14"),
	} {
		t.Run(name, func(t *testing.T) {
			server := behind(t, app)
			resp, err := server.Client().Get(server.URL + "/robots.txt")
			if err != nil {
				return
			}
			defer resp.Body.Close()
			if body, err := io.ReadAll(resp.Body); err == nil {
				t.Errorf("%d %q, want an error", resp.StatusCode, body)
			}
		})
	}
}

// Informational responses precede the response that they announce.
func TestRobotsInformational(t *testing.T) {
	w := httptest.NewRecorder()
	var codes []int
	h := Robots([]string{sitemap})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNotFound)
	}))
	h.ServeHTTP(codeRecorder{w, &codes}, httptest.NewRequest("GET", "/robots.txt", nil))
	if fmt.Sprint(codes) != "[103 200]" || w.Body.String() != line {
		t.Errorf("%v %q", codes, w.Body)
	}
}

type codeRecorder struct {
	http.ResponseWriter
	codes *[]int
}

func (c codeRecorder) WriteHeader(code int) {
	*c.codes = append(*c.codes, code)
	c.ResponseWriter.WriteHeader(code)
}
