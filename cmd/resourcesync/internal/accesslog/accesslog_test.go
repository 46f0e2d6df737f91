package accesslog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A buffer is safe for concurrent use.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// await returns the text when it has a complete line.
func (b *buffer) await(t *testing.T) string {
	t.Helper()
	for deadline := time.Now().Add(needs.Patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		b.mu.Lock()
		text := b.b.String()
		b.mu.Unlock()
		if strings.HasSuffix(text, "\n") {
			return text
		}
	}
	t.Fatal("no line")
	return ""
}

// answer sends a request over TCP, and returns its line in the log and the client's
// response.
func answer(t *testing.T, format, request string, h http.HandlerFunc) (line, got string) {
	t.Helper()
	var log buffer
	s := httptest.NewServer(Handler(&log, format, slog.New(slog.DiscardHandler), h))
	defer s.Close()
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, request)
	all, _ := io.ReadAll(c) // aborted answers end in an error
	return log.await(t), string(all)
}

const end = "Connection: close\r\n\r\n"

func TestCombined(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		request string
		handler http.HandlerFunc
		want    string // after the time
	}{
		"nothing written": {"GET / HTTP/1.1\r\nHost: x\r\n" + end, func(w http.ResponseWriter, r *http.Request) {},
			`"GET / HTTP/1.1" 200 0 "-" "-"`},
		"text": {"GET /a%20b?c=d HTTP/1.1\r\nHost: x\r\nUser-Agent: resync/1\r\nReferer: http://x/\r\n" + end,
			func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") },
			`"GET /a%20b?c=d HTTP/1.1" 200 5 "http://x/" "resync/1"`},
		"an error": {"POST /x HTTP/1.0\r\n\r\n", http.NotFound, `"POST /x HTTP/1.0" 404 19 "-" "-"`},
		"a file": {"GET / HTTP/1.1\r\nHost: x\r\nRange: bytes=2-\r\n" + end,
			func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) },
			`"GET / HTTP/1.1" 206 5 "-" "-"`},
		"a head": {"HEAD / HTTP/1.1\r\nHost: x\r\n" + end,
			func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") },
			`"HEAD / HTTP/1.1" 200 0 "-" "-"`},
		"hints before the answer": {"GET / HTTP/1.1\r\nHost: x\r\n" + end,
			func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(103); w.WriteHeader(304) },
			`"GET / HTTP/1.1" 304 0 "-" "-"`},
		"aborted": {"GET / HTTP/1.1\r\nHost: x\r\n" + end,
			func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hel"); panic(http.ErrAbortHandler) },
			`"GET / HTTP/1.1" 200 3 "-" "-"`},
		"panicked": {"GET / HTTP/1.1\r\nHost: x\r\n" + end,
			func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) },
			`"GET / HTTP/1.1" 500 0 "-" "-"`},
		"a handler that changes the request": {"GET /a HTTP/1.1\r\nHost: x\r\n" + end,
			func(w http.ResponseWriter, r *http.Request) {
				r.Method, r.RequestURI, r.RemoteAddr = "PUT", "/b", "x"
			},
			`"GET /a HTTP/1.1" 200 0 "-" "-"`},
		"bytes that end a line, and commands for terminals": {"GET /\"\\\xff\u202e HTTP/1.1\r\nHost: x\r\nUser-Agent: a\"\t\\ \u009b31m\r\n" + end,
			func(w http.ResponseWriter, r *http.Request) {},
			`"GET /\x22\x5C\xFF\xE2\x80\xAE HTTP/1.1" 200 0 "-" "a\x22\x09\x5C \xC2\x9B31m"`},
		"a long header": {"GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: " + strings.Repeat("x", 3000) + "\r\n" + end,
			func(w http.ResponseWriter, r *http.Request) {},
			`"GET / HTTP/1.1" 200 0 "-" "` + strings.Repeat("x", maxField) + `..."`},
		"a WebSocket": {"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
			func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusSwitchingProtocols)
				c, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				c.Close()
			},
			`"GET / HTTP/1.1" 101 0 "-" "-"`},
	} {
		t.Run(name, func(t *testing.T) {
			line, got := answer(t, "combined", test.request, test.handler)
			beginning := regexp.MustCompile(`^127\.0\.0\.1 - - \[\d\d/[A-Z][a-z][a-z]/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] `).FindString(line)
			if beginning == "" || line[len(beginning):] != test.want+"\n" {
				t.Errorf("got\n%s, want\n%s\nthe client got %q", line, test.want, got)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	line, _ := answer(t, "json", "GET /a\xff?b=\" HTTP/1.1\r\nHost: example.org:1\r\nUser-Agent: a\u009b\u202e\"\u2028b\r\n"+end,
		func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Millisecond)
			io.WriteString(w, "hel")
			panic(http.ErrAbortHandler)
		})
	var got jsonLine
	if err := json.Unmarshal([]byte(line), &got); err != nil || strings.Count(line, "\n") != 1 {
		t.Fatalf("%v: %s", err, line)
	}
	if time.Since(got.Time) > time.Minute || got.Seconds < 0.001 || got.Seconds > 60 {
		t.Errorf("%v, %v seconds", got.Time, got.Seconds)
	}
	got.Time, got.Seconds = time.Time{}, 0
	want := jsonLine{
		Client: "127.0.0.1", Method: "GET", Host: "example.org:1", URI: "/a\ufffd?b=\"", Proto: "HTTP/1.1",
		Status: 200, Bytes: 3, UserAgent: "a\ufffd\ufffd\"\ufffdb", Aborted: true,
	}
	if got != want {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
}

// The ResponseWriter of the handler supports all methods of the server's.
func TestResponseWriter(t *testing.T) {
	_, got := answer(t, "combined", "GET / HTTP/1.1\r\nHost: x\r\n"+end, func(w http.ResponseWriter, r *http.Request) {
		if _, ok := w.(io.ReaderFrom); !ok {
			t.Error("no io.ReaderFrom: files are copied through memory")
		}
		if _, ok := w.(http.Flusher); !ok {
			t.Error("no http.Flusher")
		}
		if _, ok := w.(http.Hijacker); !ok {
			t.Error("no http.Hijacker")
		}
		c := http.NewResponseController(w)
		if err := errors.Join(c.EnableFullDuplex(), c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Now().Add(time.Hour))); err != nil {
			t.Error(err)
		}
		if _, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader("body")); err != nil {
			t.Error(err)
		}
		if err := c.Flush(); err != nil {
			t.Error(err)
		}
	})
	res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(got)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != "body" {
		t.Errorf("%q, %v", body, err)
	}
}

// bad is a writer that fails at first.
type bad struct{ left int }

func (b *bad) Write(p []byte) (int, error) {
	if b.left--; b.left >= 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestFailuresAreLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	h := Handler(&bad{3}, "json", slog.New(slog.NewTextHandler(&log, nil)), http.NotFoundHandler())
	for range 5 {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	}
	if strings.Count(log.String(), "disk full") != 1 {
		t.Error(log.String())
	}
}

func FuzzLine(f *testing.F) {
	f.Add("GET", "/", "\x9b\n\"", "\u2028")
	f.Fuzz(func(t *testing.T, method, uri, agent, addr string) {
		e := &entry{Request: &http.Request{
			Method: method, RequestURI: uri, RemoteAddr: addr, Proto: "HTTP/1.1",
			Header: http.Header{"User-Agent": {agent}, "Referer": {uri}},
		}}
		combined := appendCombined(nil, e)
		for _, b := range combined {
			if b < ' ' || b > '~' {
				t.Fatalf("%q", combined)
			}
		}
		if quotes := bytes.Count(combined, []byte{'"'}); quotes != 6 {
			t.Errorf("%d quotes: %s", quotes, combined)
		}
		var back jsonLine
		if line := appendJSON(nil, e); bytes.ContainsAny(line, "\n\r\x1b\x7f") || json.Unmarshal(line, &back) != nil || back.URI != printable(uri) {
			t.Errorf("%q", line)
		}
	})
}

func BenchmarkHandler(b *testing.B) {
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("body")) })
	r := httptest.NewRequest("GET", "/resourcesync/resourcelist.xml", nil)
	r.Header.Set("User-Agent", "resync/2.0")
	for name, h := range map[string]http.Handler{
		"none":     next,
		"combined": Handler(io.Discard, "combined", nil, next),
		"json":     Handler(io.Discard, "json", nil, next),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			w := httptest.NewRecorder()
			for b.Loop() {
				w.Body.Reset()
				h.ServeHTTP(w, r)
			}
		})
	}
}
