package sidecar_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
)

// linkingServer serves site with links; behind, if not nil, wraps the result.
func linkingServer(t *testing.T, site http.HandlerFunc, behind func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	handler := sidecar.Wrap(site, newSource(t), &sidecar.Options{HTMLLink: true})
	if behind != nil {
		handler = behind(handler)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(server.Close)
	return server
}

func fetch(t *testing.T, method, url string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// TestHTMLLinkHandler: a handler sees the ResponseWriter of net/http, and its response
// equals that of net/http except for the links.
func TestHTMLLinkHandler(t *testing.T) {
	const page = "<head></head>text"
	for _, tt := range []struct {
		name, method string
		site         http.HandlerFunc
		body         string // with links if not that of the handler
	}{
		{"nothing", "GET", func(http.ResponseWriter, *http.Request) {}, ""},
		{"status only", "GET", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404) }, ""},
		{"no content", "GET", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(204)
			_, _ = io.WriteString(w, "x")
		}, ""},
		{"sniffed", "GET", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, page) }, "<head>" + inserted + "</head>text"},
		{"sniffed after the status", "GET", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(200)
			_, _ = io.WriteString(w, page)
		}, "<head>" + inserted + "</head>text"},
		{"sniffed from pieces", "GET", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "")
			for _, b := range []byte(page) {
				_, _ = w.Write([]byte{b})
			}
		}, "<head>" + inserted + "</head>text"},
		{"sniffed as text", "GET", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "text") }, "text"},
		{"no type", "GET", func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, page)
		}, page},
		{"head", "HEAD", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "text") }, ""},
		{"long", "GET", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("text", 100_000))
		}, strings.Repeat("text", 100_000)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plain := httptest.NewServer(tt.site)
			defer plain.Close()
			want, original := fetch(t, tt.method, plain.URL+"/a")
			got, body := fetch(t, tt.method, linkingServer(t, tt.site, nil).URL+"/a")
			if got.StatusCode != want.StatusCode || body != tt.body {
				t.Errorf("%s %.300q, want %s %.300q", got.Status, body, want.Status, tt.body)
			}
			for _, name := range []string{"Content-Type", "Content-Length"} {
				if tt.body != original && name == "Content-Length" {
					continue
				}
				if fmt.Sprint(got.Header[name]) != fmt.Sprint(want.Header[name]) {
					t.Errorf("%s: %q, want %q", name, got.Header[name], want.Header[name])
				}
			}
		})
	}
}

// TestHTMLLinkHead: net/http does not measure the page that a handler writes for a
// HEAD.
func TestHTMLLinkHead(t *testing.T) {
	server := linkingServer(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "<head></head>") }, nil)
	if res, _ := fetch(t, "HEAD", server.URL+"/a"); res.ContentLength >= 0 || res.Header.Get("Accept-Ranges") != "none" {
		t.Errorf("length %d, header %v", res.ContentLength, res.Header)
	}
}

// TestHTMLLinkStraight: an upgraded connection is passed through to the server.
func TestHTMLLinkStraight(t *testing.T) {
	server := linkingServer(t, func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	}, nil)
	r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "echo")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusSwitchingProtocols {
		t.Error(res.Status)
	}
}

// TestHTMLLinkPanic: a panic reaches the server with its value, before and after the
// response has begun, and aborts it.
func TestHTMLLinkPanic(t *testing.T) {
	for _, value := range []any{http.ErrAbortHandler, "sidecar: test"} {
		for name, begin := range map[string]func(http.ResponseWriter, *http.Request){
			"at once": func(http.ResponseWriter, *http.Request) {},
			"begun": func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, "<head></head>text")
				w.(http.Flusher).Flush()
			},
			"in a part": func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(http.StatusPartialContent)
				w.(http.Flusher).Flush()
			},
		} {
			panicked := make(chan any, 1)
			server := linkingServer(t, func(w http.ResponseWriter, r *http.Request) {
				begin(w, r)
				panic(value)
			}, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					defer func() {
						v := recover()
						panicked <- v
						panic(http.ErrAbortHandler)
					}()
					next.ServeHTTP(w, r)
				})
			})
			r := httptest.NewRequest("GET", server.URL+"/a", nil).WithContext(t.Context())
			r.Header.Set("Range", "bytes=0-1")
			res, err := http.DefaultTransport.RoundTrip(r)
			if err == nil {
				_, err = io.ReadAll(res.Body)
				res.Body.Close()
			}
			if got := <-panicked; got != value || err == nil {
				t.Errorf("%s: panic %v, want %v; client: %v", name, got, value, err)
			}
		}
	}
}

// TestHTMLLinkWriterPanics: a panic of the ResponseWriter reaches the server, too.
func TestHTMLLinkWriterPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic for the status 1000")
		}
	}()
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(1000) })
	sidecar.Wrap(site, newSource(t), &sidecar.Options{HTMLLink: true}).
		ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "https://example.org/a", nil))
}

// TestHTMLLinkDisconnect: when the client leaves, the context of the handler ends, and
// its writes fail.
func TestHTMLLinkDisconnect(t *testing.T) {
	failed := make(chan error, 1)
	server := linkingServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "<head></head>")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		var err error
		for err == nil {
			_, err = w.Write(make([]byte, 10_000))
		}
		failed <- err
	}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	res.Body.Close()
	<-failed
}

// TestHTMLLinkDeadlines: a handler can set deadlines.
func TestHTMLLinkDeadlines(t *testing.T) {
	failed := make(chan error, 1)
	server := linkingServer(t, func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		if err := errors.Join(c.SetReadDeadline(time.Now().Add(time.Minute)), c.SetWriteDeadline(time.Now().Add(-time.Second))); err != nil {
			t.Error(err)
		}
		var err error
		for err == nil {
			_, err = w.Write(make([]byte, 10_000))
		}
		failed <- err
	}, nil)
	res, err := http.DefaultTransport.RoundTrip(httptest.NewRequest("GET", server.URL+"/a", nil).WithContext(t.Context()))
	if err == nil {
		res.Body.Close()
	}
	if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

// TestHTMLLinkHintsAndTrailers: a handler sees the Link header, and its informational
// responses and trailers pass.
func TestHTMLLinkHintsAndTrailers(t *testing.T) {
	server := linkingServer(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		if !strings.Contains(h.Get("Link"), "capabilitylist.xml") {
			t.Errorf("Link: %q", h["Link"])
		}
		h.Add("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		h.Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "<head></head>")
		h.Set("X-Late", "not sent")
		h.Set("X-Sum", "1")
		h.Set(http.TrailerPrefix+"X-More", "2")
	}, nil)
	hints := ""
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
		hints = fmt.Sprint(code, len(header["Link"]))
		return nil
	}})
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || string(body) != "<head>"+inserted+"</head>" || hints != "103 2" || len(res.Header["Link"]) != 2 || res.Header.Get("X-Late") != "" {
		t.Errorf("%q %v, hints %q, header %v", body, err, hints, res.Header)
	}
	if res.Trailer.Get("X-Sum") != "1" || res.Trailer.Get("X-More") != "2" {
		t.Errorf("trailer %v", res.Trailer)
	}
}

// TestHTMLLinkFlush: the client has everything that a handler has flushed, including
// the header.
func TestHTMLLinkFlush(t *testing.T) {
	more := make(chan bool)
	server := linkingServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		if r.URL.Query().Get("type") != "text/html" {
			_ = http.NewResponseController(w).Flush()
			<-more
		}
		for _, line := range []string{"<!-- -->\n", "<html><head></head><body>\n", "end\n"} {
			_, _ = io.WriteString(w, line)
			_ = http.NewResponseController(w).Flush()
			if strings.HasPrefix(line, "<html>") {
				<-more
			}
		}
	}, nil)
	for _, kind := range []string{"text/html", "text/event-stream"} {
		res, err := http.Get(server.URL + "/a?type=" + kind)
		if err != nil {
			t.Fatal(err)
		}
		if kind != "text/html" {
			more <- true
		}
		lines := bufio.NewReader(res.Body)
		for i := range 3 {
			if i == 2 {
				more <- true
			}
			if line, err := lines.ReadString('\n'); err != nil || strings.Contains(line, inserted) != (i == 1 && kind == "text/html") {
				t.Errorf("%s: %q %v", kind, line, err)
			}
		}
		res.Body.Close()
	}
}
