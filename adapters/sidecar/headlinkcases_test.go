package sidecar_test

import (
	"compress/gzip"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/rshttp"
)

// TestHTMLLinkHeaders: a page with links has a correct header, and a page that must not
// be changed passes unchanged.
func TestHTMLLinkHeaders(t *testing.T) {
	t.Run("handler", func(t *testing.T) { testHTMLLinkHeaders(t, linkingSites["handler"]) })
	t.Run("proxy", func(t *testing.T) {
		testHTMLLinkHeaders(t, func(t testing.TB, src *rshttp.Source, site http.Handler) http.Handler {
			return linkingSite(t, src, "http://127.0.0.1:8000", roundTripper(func(r *http.Request) (*http.Response, error) {
				rec := httptest.NewRecorder()
				site.ServeHTTP(rec, r)
				res := rec.Result()
				for name := range strings.SplitSeq(res.Header.Get("Trailer"), ", ") { // as http.Transport does
					if name != "" {
						res.Trailer = http.Header{http.CanonicalHeaderKey(name): nil}
					}
				}
				return res, nil
			}))
		})
	})
}

func testHTMLLinkHeaders(t *testing.T, linking func(testing.TB, *rshttp.Source, http.Handler) http.Handler) {
	const page = `<!doctype html><html><head><meta charset=utf-8><title>A</title></head><body>text</body></html>`
	linked := strings.Replace(page, "<head>", "<head>"+inserted, 1)
	modified := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", `"v1"`)
		for name, values := range r.URL.Query() {
			w.Header()[http.CanonicalHeaderKey(name)] = values
		}
		http.ServeContent(w, r, "page.html", modified, strings.NewReader(page))
	})
	handler := linking(t, newSource(t), site)
	date := modified.Format(http.TimeFormat)
	for _, tt := range []struct {
		name, method, query string
		header              map[string]string
		status              int
		body, etag, length  string
	}{
		{"page", "GET", "", nil, 200, linked, `W/"v1"`, strconv.Itoa(len(linked))},
		{"head", "HEAD", "", nil, 200, "", `W/"v1"`, ""},
		{"other method", "POST", "", nil, 200, page, `"v1"`, strconv.Itoa(len(page))},
		{"weak already", "GET", `etag=W/"v2"`, nil, 200, linked, `W/"v2"`, strconv.Itoa(len(linked))},
		{"no-transform", "GET", "cache-control=public,+No-Transform", nil, 200, page, `"v1"`, strconv.Itoa(len(page))},
		{"digest", "GET", "content-digest=sha-256=:abc:", nil, 200, page, `"v1"`, strconv.Itoa(len(page))},
		{"brotli", "GET", "content-encoding=br", nil, 200, page, `"v1"`, ""},
		{"plain text", "GET", "content-type=text/plain", nil, 200, page, `"v1"`, strconv.Itoa(len(page))},
		{"digest as a trailer", "GET", "trailer=X-Sum,+content-digest", nil, 200, page, `"v1"`, strconv.Itoa(len(page))},
		{"signature as a trailer", "GET", "trailer=Signature", nil, 200, page, `"v1"`, strconv.Itoa(len(page))},
		{"other trailer", "GET", "trailer=X-Sum", nil, 200, linked, `W/"v1"`, strconv.Itoa(len(linked))},
		{"not modified", "GET", "", map[string]string{"If-None-Match": `W/"v1"`}, 304, "", `W/"v1"`, ""},
		{"not modified, head", "HEAD", "", map[string]string{"If-None-Match": `W/"v1"`}, 304, "", `W/"v1"`, ""},
		{"not modified since", "GET", "", map[string]string{"If-Modified-Since": date}, 304, "", `W/"v1"`, ""},
		{"range", "GET", "", map[string]string{"Range": "bytes=5-9"}, 200, linked, `W/"v1"`, strconv.Itoa(len(linked))},
		{"several ranges", "GET", "", map[string]string{"Range": "bytes=0-1,3-4"}, 200, linked, `W/"v1"`, strconv.Itoa(len(linked))},
		{"resumed by tag", "GET", "", map[string]string{"Range": "bytes=5-", "If-Range": `W/"v1"`}, 200, linked, `W/"v1"`, strconv.Itoa(len(linked))},
		{"resumed by date", "GET", "", map[string]string{"Range": "bytes=5-", "If-Range": date}, 200, linked, `W/"v1"`, strconv.Itoa(len(linked))},
		{"range of something else", "GET", "content-type=image/png", map[string]string{"Range": "bytes=5-9"}, 206, page[5:10], `"v1"`, "5"},
		{"malformed gzip", "GET", "content-encoding=gzip", nil, 200, page, `"v1"`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(tt.method, "https://example.org/page?"+strings.ReplaceAll(tt.query, `"`, "%22"), nil)
			for name, value := range tt.header {
				r.Header.Set(name, value)
			}
			rec := httptest.NewRecorder()
			handler.ServeHTTP(rec, r)
			res := rec.Result()
			body := string(raw(res))
			if res.StatusCode != tt.status || body != tt.body {
				t.Errorf("%s %q, want %d %q", res.Status, body, tt.status, tt.body)
			}
			if got := res.Header.Get("Etag"); got != tt.etag {
				t.Errorf("ETag: %s, want %s", got, tt.etag)
			}
			if got := res.Header.Get("Content-Length"); got != tt.length {
				t.Errorf("Content-Length: %q, want %q", got, tt.length)
			}
			if links := res.Header["Link"]; tt.method != "POST" && (len(links) != 1 || !strings.Contains(links[0], "capabilitylist.xml")) {
				t.Errorf("Link: %q", links)
			}
			if changed := body == linked || tt.method == "HEAD" && tt.status == 200; changed && res.Header.Get("Accept-Ranges") != "none" {
				t.Errorf("Accept-Ranges: %q", res.Header.Get("Accept-Ranges"))
			}
		})
	}
}

// TestHTMLLinkBrokenOff: if a page is aborted, compressed or not, the response is
// aborted as well.
func TestHTMLLinkBrokenOff(t *testing.T) {
	for name, linking := range linkingSites {
		t.Run(name, func(t *testing.T) { testHTMLLinkBrokenOff(t, linking) })
	}
}

func testHTMLLinkBrokenOff(t *testing.T, linking func(testing.TB, *rshttp.Source, http.Handler) http.Handler) {
	page := []byte("<head></head>" + strings.Repeat("text ", 10_000))
	for name, body := range map[string][]byte{"identity": page, "gzip": compress(t, page)} {
		for _, after := range []int{1, 5, len(body) - 1} {
			site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				if name == "gzip" {
					w.Header().Set("Content-Encoding", "gzip")
				}
				_, _ = w.Write(body[:after])
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			})
			server := httptest.NewServer(linking(t, newSource(t), site))
			res, err := http.DefaultTransport.RoundTrip(httptest.NewRequest("GET", server.URL+"/page", nil))
			var got []byte
			if err == nil {
				got, err = io.ReadAll(res.Body)
				res.Body.Close()
			}
			if err == nil {
				t.Errorf("%s after %d bytes: looks complete", name, after)
			}
			if after == len(body)-1 && len(got) == 0 {
				t.Errorf("%s after %d bytes: nothing was passed on", name, after)
			}
			server.Close()
		}
	}
}

// TestHTMLLinkGzipMembers: data behind a gzip stream is ignored, and a further member
// is part of the page.
func TestHTMLLinkGzipMembers(t *testing.T) {
	src := newSource(t)
	for _, size := range []int{10, 100_000} {
		rng := rand.New(rand.NewPCG(2, 3))
		text := make([]byte, size)
		for i := range text {
			text[i] = 'a' + byte(rng.IntN(26))
		}
		first, second := "<head></head>"+string(text), "more text"
		linked := strings.Replace(first, "<head>", "<head>"+inserted, 1)
		for _, tt := range []struct {
			name string
			body []byte
			want string
		}{
			{"junk", append(compress(t, []byte(first)), "junk"...), linked},
			{"one byte", append(compress(t, []byte(first)), 0x1f), linked},
			{"zeros", append(compress(t, []byte(first)), make([]byte, 200_000)...), linked},
			{"two members", append(compress(t, []byte(first)), compress(t, []byte(second))...), linked + second},
			{"two members and junk", slices.Concat(compress(t, []byte(first)), compress(t, []byte(second)), []byte("junk")), linked + second},
		} {
			n := len(tt.body)
			for _, chunks := range [][]int{{n}, {n / 2, n - n/2}, {n - 3, 1, 1, 1}} {
				for _, serve := range []chunkServer{serveChunks, handleChunks} {
					res := serve(t, src, "text/html; charset=utf-8", true, tt.body, chunks)
					if got := content(t, res); got != tt.want {
						t.Errorf("%s of %d bytes, chunks %v: got %d bytes, want %d", tt.name, size, chunks, len(got), len(tt.want))
					}
				}
			}
		}
	}
}

// TestHTMLLinkRangeWithBody: a request whose body can be sent only once is sent once.
func TestHTMLLinkRangeWithBody(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(body)
	}))
	defer upstream.Close()
	site := httptest.NewServer(linkingSite(t, newSource(t), upstream.URL, nil))
	defer site.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site.URL+"/a", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Range", "bytes=0-3")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); res.StatusCode != http.StatusPartialContent || string(body) != "body" || err != nil {
		t.Errorf("%s %q %v", res.Status, body, err)
	}
}

// TestHTMLLinkStreams: the beginning of a page that arrives slowly is not held back.
func TestHTMLLinkStreams(t *testing.T) {
	for name, linking := range linkingSites {
		t.Run(name, func(t *testing.T) { testHTMLLinkStreams(t, linking) })
	}
}

func testHTMLLinkStreams(t *testing.T, linking func(testing.TB, *rshttp.Source, http.Handler) http.Handler) {
	for _, zipped := range []bool{false, true} {
		more := make(chan bool)
		site := httptest.NewServer(linking(t, newSource(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			var page io.Writer = w
			if zipped {
				w.Header().Set("Content-Encoding", "gzip")
				zw := gzip.NewWriter(w)
				defer zw.Close()
				page = zw
			}
			_, _ = io.WriteString(page, "<head></head>")
			if zw, ok := page.(*gzip.Writer); ok {
				_ = zw.Flush()
			}
			_ = http.NewResponseController(w).Flush()
			<-more
			_, _ = io.WriteString(page, "text")
		})))
		res, err := http.DefaultTransport.RoundTrip(httptest.NewRequest("GET", site.URL+"/page", nil))
		if err != nil {
			t.Fatal(err)
		}
		body := res.Body // decompressed by the transport
		want := "<head>" + inserted + "</head>"
		begin := make([]byte, len(want))
		if _, err := io.ReadFull(body, begin); err != nil || string(begin) != want {
			t.Errorf("gzip %v: %q, %v", zipped, begin, err)
		}
		close(more)
		if rest, err := io.ReadAll(body); err != nil || string(rest) != "text" {
			t.Errorf("gzip %v: %q, %v", zipped, rest, err)
		}
		res.Body.Close()
		site.Close()
	}
}
