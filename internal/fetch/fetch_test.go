package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

func serve(t *testing.T, h http.HandlerFunc) (*httptest.Server, *Client) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := New(Options{Trusted: []string{HostPort(u)}, IgnoreRobots: true})
	c.wait.First = time.Millisecond
	t.Cleanup(c.CloseIdle)
	return s, c
}

func sha256Of(text string) resourcesync.Hash {
	return resourcesync.Hash{Algorithm: "sha-256", Digest: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))}
}

func text(t *testing.T, c *Content) string {
	t.Helper()
	r, err := c.Reader()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestUncached: caches are asked not to send documents of their own, if the context says so.
func TestUncached(t *testing.T) {
	var asked string
	s, c := serve(t, func(w http.ResponseWriter, r *http.Request) { asked = r.Header.Get("Cache-Control") })
	for want, ctx := range map[string]context.Context{"": t.Context(), "no-cache": Uncached(t.Context())} {
		d, err := c.Document(ctx, s.URL, Validators{})
		if err != nil {
			t.Fatal(err)
		}
		d.Close()
		if asked != want {
			t.Errorf("Cache-Control is %q, want %q", asked, want)
		}
	}
}

// TestDown: a host that fails again and again is not requested for a while, and the error has the cause.
func TestDown(t *testing.T) {
	requests := 0
	s, c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.WriteHeader(http.StatusBadGateway)
	})
	c.wait.Max = time.Millisecond
	var err error
	for range maxFailures + 1 {
		if _, err = c.Get(t.Context(), s.URL, nil); errors.Is(err, ErrDown) {
			break
		}
	}
	if !errors.Is(err, ErrDown) || !strings.Contains(err.Error(), "502 Bad Gateway") || requests != maxFailures {
		t.Errorf("after %d requests: %v", requests, err)
	}
}

// TestResumeInAnotherProcess has a download that ends in the middle, and another Client that
// continues it.
func TestResumeInAnotherProcess(t *testing.T) {
	body := strings.Repeat("0123456789", 200_000)
	var etag atomic.Value
	etag.Store(`"1"`)
	var sent atomic.Int64
	var down atomic.Bool
	down.Store(true)
	s, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", etag.Load().(string))
		if !down.Load() {
			http.ServeContent(&counter{w, &sent}, r, "", time.Time{}, strings.NewReader(body))
			return
		}
		if r.Header.Get("Range") == "" {
			io.WriteString(w, body[:1_000_000])
			http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	})
	folder := t.TempDir()
	w := Want{URI: s.URL + "/a", Hashes: []resourcesync.Hash{sha256Of(body)}}
	if _, err := c.Download(t.Context(), Folder{Name: folder}, w); err == nil {
		t.Fatal("no error")
	}
	down.Store(false)
	content, err := New(Options{Trusted: c.hosts.options.Trusted, IgnoreRobots: true}).Download(t.Context(), Folder{Name: folder}, w)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, content); got != body {
		t.Errorf("got %d bytes, want %d", len(got), len(body))
	}
	if n := sent.Load(); n > 1_100_000 {
		t.Errorf("%d bytes were sent again", n)
	}
	content.Close()
	if names, _ := os.ReadDir(folder); len(names) > 0 {
		t.Errorf("files are left: %v", names)
	}

	// With another entity tag, the beginning is useless.
	down.Store(true)
	if _, err := c.Download(t.Context(), Folder{Name: folder}, w); err == nil {
		t.Fatal("no error")
	}
	down.Store(false)
	etag.Store(`"2"`)
	if content, err = c.Download(t.Context(), Folder{Name: folder}, w); err != nil || text(t, content) != body {
		t.Errorf("after a change: %v", err)
	}
	content.Close()
}

// TestKept has a complete download that another process needs again, and whose hashes are
// unknown.
func TestKept(t *testing.T) {
	body := strings.Repeat("0123456789", 200_000)
	etag := `"1"`
	var sent atomic.Int64
	s, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", etag)
		http.ServeContent(&counter{w, &sent}, r, "", time.Time{}, strings.NewReader(body))
	})
	folder := t.TempDir()
	w := Want{URI: s.URL + "/a", Package: true}
	for _, test := range []struct {
		etag string
		sent int
	}{{`"1"`, len(body)}, {`"1"`, 0}, {`"2"`, len(body)}, {`"2"`, 0}} {
		etag = test.etag
		sent.Store(0)
		content, err := c.Download(t.Context(), Folder{Name: folder}, w)
		if err != nil || text(t, content) != body || content.Validators.ETag != etag || sent.Load()/1000 != int64(test.sent)/1000 {
			t.Fatalf("%d bytes were sent, want %d; %+v, %v", sent.Load(), test.sent, content, err)
		}
		if err := content.Keep(); err != nil {
			t.Error(err)
		}
	}
}

type counter struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (w *counter) Write(p []byte) (int, error) {
	w.n.Add(int64(len(p)))
	return w.ResponseWriter.Write(p)
}

// TestDigests accepts the forms in which Sources write hashes, and refuses wrong ones.
func TestDigests(t *testing.T) {
	s, c := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "text") })
	sum := md5.Sum([]byte("text"))
	right := hex.EncodeToString(sum[:])
	for _, test := range []struct {
		algorithm, digest string
		ok                bool
	}{
		{"md5", right, true},
		{"MD5", strings.ToUpper(right), true},
		{"md5", base64.StdEncoding.EncodeToString(sum[:]), true},
		{"sha256", sha256Of("text").Digest, true},
		{"sha-256", sha256Of("text").Digest, true},
		{"unknown", "0", true},
		{"md5", strings.Repeat("0", 32), false},
		{"sha256", sha256Of("other").Digest, false},
		{"sha-1", "", false},
	} {
		content, err := c.Download(t.Context(), Folder{Name: t.TempDir()}, Want{URI: s.URL, Hashes: []resourcesync.Hash{{Algorithm: test.algorithm, Digest: test.digest}}})
		if _, mismatch := errors.AsType[*MismatchError](err); mismatch == test.ok || test.ok && (err != nil || text(t, content) != "text") {
			t.Errorf("%s:%s: %v", test.algorithm, test.digest, err)
		}
	}
}

// TestStaleCache requests the current version from a cache after a mismatch.
func TestStaleCache(t *testing.T) {
	s, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cache-Control") == "no-cache" {
			io.WriteString(w, "new")
			return
		}
		io.WriteString(w, "old")
	})
	content, err := c.Download(t.Context(), Folder{Name: t.TempDir()}, Want{URI: s.URL, Hashes: []resourcesync.Hash{sha256Of("new")}})
	if err != nil || text(t, content) != "new" {
		t.Errorf("%v", err)
	}
}

// TestUninvitedGzip decompresses responses that a server has compressed without a
// request.
func TestUninvitedGzip(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, "text")
	z.Close()
	s, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(b.Bytes())
	})
	content, err := c.Download(t.Context(), Folder{Name: t.TempDir()}, Want{URI: s.URL, Length: resourcesync.Bytes(4), Hashes: []resourcesync.Hash{sha256Of("text")}})
	if err != nil || text(t, content) != "text" {
		t.Errorf("%v", err)
	}
	d, err := c.Document(t.Context(), s.URL, Validators{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if got, err := io.ReadAll(d); string(got) != "text" || err != nil {
		t.Errorf("document: %q, %v", got, err)
	}
}

// TestInternalAddresses dials only allowed addresses, also after redirects and for
// names.
func TestInternalAddresses(t *testing.T) {
	var requests atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer other.Close()
	s, c := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) })
	_, port, _ := strings.Cut(strings.TrimPrefix(other.URL, "http://"), ":")
	for _, uri := range []string{s.URL, other.URL, "http://localhost:" + port, "http://[::ffff:127.0.0.1]:" + port} {
		if _, err := c.Get(t.Context(), uri, nil); !errors.Is(err, ErrInternal) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	var err error
	for range maxFailures + 1 {
		if _, err = c.Get(t.Context(), other.URL, nil); errors.Is(err, ErrDown) {
			break
		}
	}
	if !errors.Is(err, ErrDown) || !errors.Is(err, ErrInternal) {
		t.Errorf("not requested any more: %v", err)
	}
	if _, err := c.Get(t.Context(), "ftp://example.org/", nil); err == nil {
		t.Error("ftp is requested")
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("%d requests to an internal address", n)
	}
	c = New(Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, IgnoreRobots: true})
	if res, err := c.Get(t.Context(), s.URL, nil); err != nil {
		t.Errorf("allowed: %v", err)
	} else {
		res.Body.Close()
	}
}

// TestRebinding has hosts whose names later resolve to another kind of address.
func TestRebinding(t *testing.T) {
	k := &kinds{allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, internal: make(map[string]bool)}
	for _, step := range []struct {
		host, address string
		keep, ok      bool
	}{
		{"evil.example:80", "93.184.215.14:80", true, true},
		{"evil.example:80", "93.184.215.15:80", true, true},
		{"evil.example:80", "169.254.169.254:80", false, false},
		{"evil.example:80", "[::ffff:127.0.0.1]:80", true, false},
		{"evil.example:80", "10.1.2.3:80", true, true},
		{"lan.example:80", "127.0.0.1:80", false, true}, // an attempt decides nothing
		{"lan.example:80", "192.168.0.1:80", true, true},
		{"lan.example:80", "192.168.0.2:80", true, true},
		{"lan.example:80", "93.184.215.14:80", true, false},
	} {
		if err := k.check(step.host, step.address, step.keep); (err == nil) != step.ok || err != nil && !errors.Is(err, ErrInternal) {
			t.Errorf("%+v: %v", step, err)
		}
	}
}

// TestConcurrency keeps the limit of a host.
func TestConcurrency(t *testing.T) {
	var now, most atomic.Int64
	s, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(5 * time.Millisecond)
	})
	done := make(chan error)
	for range 40 {
		go func() {
			res, err := c.Get(t.Context(), s.URL, nil)
			if err == nil {
				err = res.Body.Close()
			}
			done <- err
		}()
	}
	for range 40 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := most.Load(); n < 2 || n > 4 {
		t.Errorf("%d requests at a time", n)
	}
}

// TestRobotsFailing requests nothing from a host whose robots.txt fails.
func TestRobotsFailing(t *testing.T) {
	var status atomic.Int64
	status.Store(http.StatusServiceUnavailable)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			w.WriteHeader(int(status.Load()))
			io.WriteString(w, "User-agent: *\nDisallow: /\n")
		}
	}))
	defer s.Close()
	c := New(Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	c.wait.First = time.Millisecond
	if _, err := c.Get(t.Context(), s.URL, nil); err == nil || !strings.Contains(err.Error(), "robots.txt cannot be read, so nothing of the host may be requested (RFC 9309): ") {
		t.Errorf("503: %v", err)
	}
	status.Store(http.StatusNotFound)
	res, err := c.Get(t.Context(), s.URL, nil)
	if err != nil {
		t.Fatalf("404: %v", err)
	}
	res.Body.Close()
}

// TestRobotsElsewhere has a robots.txt that redirects to another host, up to five times. Its rules
// are obeyed. One at an address that is not allowed, or with more redirects, allows nothing.
func TestRobotsElsewhere(t *testing.T) {
	rules := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "User-agent: *\nDisallow: /private/\n")
	}))
	defer rules.Close()
	for name, test := range map[string]struct {
		redirects int
		allow     string
		public    bool
	}{
		"once":             {1, "127.0.0.0/8", true},
		"five times":       {5, "127.0.0.0/8", true},
		"six times":        {6, "127.0.0.0/8", false},
		"not allowed host": {1, "10.0.0.0/8", false},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/robots.txt" {
					return
				}
				to := "/robots.txt"
				if n++; n == test.redirects {
					to = rules.URL + "/rules"
				}
				http.Redirect(w, r, to, http.StatusMovedPermanently)
			}))
			defer s.Close()
			u, _ := url.Parse(s.URL)
			c := New(Options{Trusted: []string{HostPort(u)}, Allow: []netip.Prefix{netip.MustParsePrefix(test.allow)}, Attempts: 1})
			defer c.CloseIdle()
			res, err := c.Get(t.Context(), s.URL+"/public/a", nil)
			if err == nil {
				res.Body.Close()
			}
			if (err == nil) != test.public {
				t.Errorf("/public/a: %v", err)
			}
			if _, err := c.Get(t.Context(), s.URL+"/private/a", nil); err == nil || test.public && !errors.Is(err, ErrDisallowed) {
				t.Errorf("/private/a: %v", err)
			}
		})
	}
}

// TestNotModified: a host that answers 304 does not use up its concurrent requests.
func TestNotModified(t *testing.T) {
	s, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), needs.Patience)
	defer cancel()
	for i := range 10 {
		d, err := c.Document(ctx, s.URL, Validators{ETag: `"1"`})
		if err != nil || !d.NotModified {
			t.Fatalf("request %d: %v", i+1, err)
		}
	}
}

// TestPost has a hub that redirects, and one that refuses.
func TestPost(t *testing.T) {
	s, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/hub", http.StatusTemporaryRedirect)
		case "/found":
			http.Redirect(w, r, "/hub", http.StatusFound)
		case "/hub":
			if r.Method != http.MethodPost || r.FormValue("a") != "b" {
				t.Errorf("%s %v", r.Method, r.Form)
			}
			w.WriteHeader(http.StatusAccepted)
		default:
			http.Error(w, "The\ntopic is unknown.", http.StatusForbidden)
		}
	})
	for path, want := range map[string]string{"/hub": "", "/moved": "", "/found": "does not repeat", "/no": "403 Forbidden: The topic is unknown."} {
		err := c.Post(t.Context(), s.URL+path, url.Values{"a": {"b"}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestNotModifiedSince has a host that answers 304 with an earlier Last-Modified, as after a clock was set back. The document is
// requested again.
func TestNotModifiedSince(t *testing.T) {
	earlier := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	s, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "a.xml", earlier, strings.NewReader("new"))
	})
	for known, notModified := range map[time.Time]bool{earlier: true, earlier.Add(time.Hour): false} {
		d, err := c.Document(t.Context(), s.URL, Validators{LastModified: known.Format(http.TimeFormat)})
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(d)
		if want := map[bool]string{false: "new"}[notModified]; err != nil || d.NotModified != notModified || string(text) != want {
			t.Errorf("%v: not modified %v, %q, %v; want %v, %q", known, d.NotModified, text, err, notModified, want)
		}
		d.Close()
	}
}
