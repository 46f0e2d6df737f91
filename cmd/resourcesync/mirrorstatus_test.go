package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
	"github.com/resourcesync-go/resourcesync/internal/browsertest"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A copyServer is a mirror with a status address.
type copyServer struct {
	*follower
	url string
}

func startWithStatus(t testing.TB, source, dir string, flags ...string) *copyServer {
	t.Helper()
	f := startFollower(t, source, dir, append(flags, "--status", "127.0.0.1:0")...)
	return &copyServer{f, f.stdout.await(`status for operators.* url=(\S+)`)[1]}
}

// status returns the status code and the status.
func (c *copyServer) status(t testing.TB) (int, status.CopyStatus) {
	t.Helper()
	res, body := get(t, c.url+"status.json")
	var s status.CopyStatus
	if err := json.Unmarshal([]byte(body), &s); err != nil || res.Header.Get("Content-Type") != "application/json" || res.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%v %v %s", err, res.Header, body)
	}
	return res.StatusCode, s
}

// await waits until the status fulfils a condition, and returns its code, too.
func (c *copyServer) await(t testing.TB, what string, is func(*status.CopyStatus) bool) (int, status.CopyStatus) {
	t.Helper()
	for deadline := time.Now().Add(needs.Patience); ; time.Sleep(50 * time.Millisecond) {
		code, s := c.status(t)
		if is(&s) {
			return code, s
		}
		if time.Now().After(deadline) {
			text, _ := json.MarshalIndent(s, "", "  ")
			t.Fatalf("never %s: %s\n%s", what, text, c.stdout)
		}
	}
}

// metrics returns the lines of the metrics of the copy.
func (c *copyServer) metrics(t testing.TB) []string {
	t.Helper()
	_, body := get(t, c.url+"metrics")
	return slices.DeleteFunc(strings.Split(body, "\n"), func(line string) bool { return !strings.HasPrefix(line, "resourcesync_copy_") })
}

// page returns the page as a browser gets it.
func (c *copyServer) page(t testing.TB) (*http.Response, string) {
	t.Helper()
	res, page := (&served{t: t}).getAs(c.url, "Mozilla/5.0", browserAccept)
	checkTimes(t, page)
	return res, page
}

// TestMirrorStatus follows a Source by WebSocket. The page, the JSON, the metrics, healthz and the
// command report that the copy is in sync. docs/mirror.md has each metric of a copy, and no other.
func TestMirrorStatus(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for i := range 10 {
		write(t, filepath.Join(folder, fmt.Sprint("f", i)), fmt.Sprint("content ", i))
	}
	s := startReady(t, folder, "--websocket")
	dir := filepath.Join(t.TempDir(), "copy")
	f := startWithStatus(t, s.site, dir, "--every", "1s")
	opened := func(s *status.CopyStatus) bool {
		return len(s.Copy.Channels) == 2 && s.Copy.Channels[0].Open && s.Copy.Channels[1].Open && !s.Copy.Next.IsZero()
	}
	code, now := f.await(t, "in sync", opened)
	c := now.Copy
	if code != 200 || !now.Healthy || c.BehindSeconds == nil || *c.BehindSeconds != 0 || c.Behind != 0 || c.Resources != 10 || c.Source != s.site || c.Dir != dir || c.Channels[0].By != "WebSocket" || c.Last.Sets != 1 {
		t.Errorf("%d %+v", code, now)
	}
	s.write("new", "text")
	f.await(t, "notified", func(s *status.CopyStatus) bool { return s.Copy.Resources == 11 && s.Copy.Channels[0].Received > 0 })
	if res, body := get(t, f.url+"healthz"); res.StatusCode != 200 || body != "ok\n" {
		t.Errorf("healthz: %s %q", res.Status, body)
	}
	res, page := f.page(t)
	for _, want := range []string{"There are no problems.", "nothing", "Change Notifications, by WebSocket", "Last run", "Next run", `href="/metrics"`, `href="` + s.site + `"`} {
		if res.StatusCode != 200 || !strings.Contains(page, want) {
			t.Errorf("%s: the page lacks %q: %s", res.Status, want, page)
		}
	}
	names := func(text string) []string {
		return slices.Compact(slices.Sorted(slices.Values(regexp.MustCompile(`resourcesync_copy_[a-z_]+`).FindAllString(text, -1))))
	}
	if metrics, documented := names(strings.Join(f.metrics(t), "\n")), names(read(t, "../../docs/mirror.md")); !slices.Equal(metrics, documented) {
		t.Errorf("metrics %q\ndocumented %q", metrics, documented)
	}
	at := strings.TrimSuffix(strings.TrimPrefix(f.url, "http://"), "/")
	if code, stdout, stderr := query(t, at); code != 0 || stderr != "" || !regexp.MustCompile(`(?s)^Healthy\n\n  Source +`+regexp.QuoteMeta(s.site)+`\n.*  Behind +nothing\n.*  Next run .*Change Notifications +WebSocket +open `).MatchString(stdout) {
		t.Errorf("%d %s\n%s", code, stderr, stdout)
	}
	browsertest.Check(t, browsertest.Page{Name: "copy", URL: f.url})
	f.interrupt(t)
}

// TestMirrorStatusProblems has resources that cannot be copied, held deletions, and a Source that
// does not answer.
func TestMirrorStatusProblems(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	folder := t.TempDir()
	for i := range 10 {
		write(t, filepath.Join(folder, fmt.Sprint("f", i)), fmt.Sprint("content ", i))
	}
	s := startReady(t, folder)
	dir := filepath.Join(t.TempDir(), "copy")
	f := startWithStatus(t, s.site, dir, "--every", "1s")
	f.await(t, "in sync", func(s *status.CopyStatus) bool {
		return s.Copy.Resources == 10 && s.Copy.Failures == 0 && !s.Copy.InSync.IsZero()
	})
	inSync := time.Now()

	write(t, filepath.Join(dir, "mine"), "a file of mine in the way") // of a resource to come
	s.write("mine", "text")
	code, now := f.await(t, "failing", func(s *status.CopyStatus) bool { return s.Copy.Behind == 1 && s.Copy.Failures > 1 })
	if c := now.Copy; code != 503 || now.Healthy || len(now.Problems) != 1 || !strings.Contains(now.Problems[0], "1 resource could not be copied; the next run tries again") || c.BehindSeconds == nil || *c.BehindSeconds <= 0 || len(c.Last.Failures) != 1 || c.InSync.After(time.Now()) {
		t.Errorf("%d %+v", code, now)
	}
	if res, body := get(t, f.url+"healthz"); res.StatusCode != 503 || body != "unhealthy; see the log\n" {
		t.Errorf("healthz: %s %q", res.Status, body)
	}
	f.stdout.await("unhealthy.*1 resource could not be copied")
	res, page := f.page(t)
	for _, want := range []string{"1 problem", "Failures", s.site + "mine", "a file", "1 change", "polling"} {
		if res.StatusCode != 503 || !strings.Contains(page, want) {
			t.Errorf("%s: the page lacks %q", res.Status, want)
		}
	}
	if _, all := get(t, f.url+"metrics"); !strings.Contains(all, `resourcesync_disk_free_bytes{of="copy",set=""} `) || !strings.Contains(all, `resourcesync_disk_size_bytes{of="state",set=""} `) {
		t.Errorf("no room on the disk in %s", all)
	}
	metrics := f.metrics(t)
	for _, want := range []string{"resourcesync_copy_healthy 0", "resourcesync_copy_behind_changes 1", "resourcesync_copy_resources 10", `resourcesync_copy_channels{by="WebSocket",state="open"} 0`, `resourcesync_copy_changes_total{change="created"} 10`} {
		if !slices.Contains(metrics, want) {
			t.Errorf("no %s in %q", want, metrics)
		}
	}
	at := strings.TrimSuffix(strings.TrimPrefix(f.url, "http://"), "/")
	if code, stdout, stderr := query(t, at); code != 1 || !strings.HasPrefix(stdout, "Problems\n  1 resource could") || !strings.Contains(stderr, "the copy has problems; docs/mirror.md") {
		t.Errorf("%d %s\n%s", code, stderr, stdout)
	}
	must(t, os.Remove(filepath.Join(dir, "mine")))
	code, now = f.await(t, "repaired", func(s *status.CopyStatus) bool { return s.Healthy && s.Copy.Resources == 11 })
	if code != 200 || now.Copy.InSync.Before(inSync) || *now.Copy.BehindSeconds != 0 {
		t.Errorf("%d %+v", code, now)
	}

	s.stop()
	code, now = f.await(t, "cut off", func(s *status.CopyStatus) bool { return s.Copy.Error != "" })
	if code != 503 || len(now.Problems) == 0 || !strings.HasPrefix(now.Problems[0], "the last run failed: ") || *now.Copy.BehindSeconds <= 0 || now.Copy.Behind != 0 {
		t.Errorf("%d %+v", code, now)
	}
	if _, page := f.page(t); !strings.Contains(page, "unknown") || !strings.Contains(page, "because the last run failed") {
		t.Error(page)
	}
	f.interrupt(t)
}

// TestMirrorStatusHeld: the page has the command that releases held deletions.
func TestMirrorStatusHeld(t *testing.T) {
	t.Parallel()
	var few atomic.Bool
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		base := "http://" + r.Host
		switch r.URL.Path {
		case "/.well-known/resourcesync":
			fmt.Fprintf(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/"><rs:md capability="description"/><url><loc>%s/capabilitylist.xml</loc><rs:md capability="capabilitylist"/></url></urlset>`, base)
		case "/capabilitylist.xml":
			fmt.Fprintf(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/"><rs:md capability="capabilitylist"/><url><loc>%s/resourcelist.xml</loc><rs:md capability="resourcelist"/></url></urlset>`, base)
		case "/resourcelist.xml":
			n := 10
			if few.Load() {
				n = 1
			}
			fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/"><rs:md capability="resourcelist"/>`)
			for i := range n {
				fmt.Fprintf(w, `<url><loc>%s/r%d</loc><lastmod>2026-01-01T00:00:00Z</lastmod><rs:md length="1"/></url>`, base, i)
			}
			fmt.Fprint(w, `</urlset>`)
		case "/robots.txt":
			http.NotFound(w, r)
		default:
			fmt.Fprint(w, "x")
		}
	}))
	t.Cleanup(source.Close)
	dir := filepath.Join(t.TempDir(), "my copy")
	f := startWithStatus(t, source.URL+"/", dir, "--every", "1s")
	f.await(t, "copied", func(s *status.CopyStatus) bool { return s.Copy.Resources == 10 })
	few.Store(true)
	code, now := f.await(t, "held", func(s *status.CopyStatus) bool { return s.Copy.Last.Held == 9 })
	if code != 503 || now.Copy.Behind != 0 || len(now.Problems) != 1 {
		t.Errorf("%d %+v", code, now)
	}
	release := "resourcesync mirror " + source.URL + "/ '" + dir + "' --max-delete 100%"
	if _, page := f.page(t); !strings.Contains(strings.ReplaceAll(page, "&#39;", "'"), release) {
		t.Errorf("the page lacks %s", release)
	}
	f.interrupt(t)
}

// TestMirrorStatusEvery: a mirror that polls also has a status, with the time of its next run.
func TestMirrorStatusEvery(t *testing.T) {
	t.Parallel()
	s := startReady(t, t.TempDir())
	s.write("a", "text")
	f := startMirror(t, s.site, filepath.Join(t.TempDir(), "copy"), "--every", "1h", "--status", "127.0.0.1:0")
	c := &copyServer{f, f.stdout.await(`status for operators.* url=(\S+)`)[1]}
	_, now := c.await(t, "copied", func(s *status.CopyStatus) bool { return s.Copy.Last != nil })
	if next := time.Until(now.Copy.Next); next < 50*time.Minute || len(now.Copy.Channels) != 0 {
		t.Errorf("%+v", now)
	}
	f.interrupt(t)
}

// TestMirrorStatusRefused checks command lines without a status, and an address in use.
func TestMirrorStatusRefused(t *testing.T) {
	t.Parallel()
	if code, _, stderr := runMirror(t, "http://127.0.0.1:1/", t.TempDir(), "--status", "127.0.0.1:0"); code != 2 || !strings.Contains(stderr, "needs --follow or --every") {
		t.Errorf("%d %s", code, stderr)
	}
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	if code, _, stderr := runMirror(t, "http://127.0.0.1:1/", t.TempDir(), "--follow", "--status", taken.Listener.Addr().String()); code != 1 || !strings.Contains(stderr, "address already in use") {
		t.Errorf("%d %s", code, stderr)
	}
}
