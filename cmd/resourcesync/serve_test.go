package main

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// sampleFiles are files of many kinds, with names that are hard to handle in folders,
// URLs or XML.
var sampleFiles = map[string]string{
	"index.html":          "<p>front",
	"a/index.html":        "<p>a",
	"a/b/c/deep.json":     "{}",
	"a b.txt":             "blank",
	"100%.txt":            "percent",
	"%41.txt":             "not A",
	"é/日本語.md":            "# utf-8",
	"q?x=1#y&z.csv":       "1,2",
	"empty":               "",
	"no extension":        "\x89PNG\r\n\x1a\n",
	"~tilde/+plus;semi,c": "text",
	"resourcesync":        "a file of that name is in nobody's way",
	"resourcesync.xml":    "<x/>",
	"robots.txt":          "User-agent: *\nDisallow:\n",
}

func sampleFolder(t *testing.T) string {
	folder := t.TempDir()
	modified := time.Now().Add(-time.Hour)
	for key, body := range sampleFiles {
		path := filepath.Join(folder, filepath.FromSlash(key))
		write(t, path, body)
		must(t, os.Chtimes(path, modified, modified))
	}
	write(t, filepath.Join(folder, ".hidden"), "")
	write(t, filepath.Join(folder, ".git/config"), "")
	must(t, os.Symlink("index.html", filepath.Join(folder, "link.html")))
	return folder
}

// A crawl from the well-known URI finds every file, and each has the listed bytes.
func TestCrawl(t *testing.T) {
	for name, flags := range map[string][]string{
		"one list": nil,
		"pages":    {"--page-size", "3", "--hash", "md5,sha-256"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startReady(t, sampleFolder(t), flags...)
			left := maps.Clone(sampleFiles)
			for _, e := range s.list("resourcelist") {
				res, body := s.get(e.Loc)
				key := strings.TrimPrefix(res.Request.URL.Path, "/")
				want, ok := left[key]
				if !ok {
					t.Errorf("%s is listed", e.Loc)
					continue
				}
				delete(left, key)
				hash := fmt.Sprintf("sha-256:%x", sha256.Sum256([]byte(want)))
				if len(flags) > 0 {
					hash = fmt.Sprintf("md5:%x %s", md5.Sum([]byte(want)), hash)
				}
				if res.StatusCode != 200 || body != want || e.Metadata.Length != fmt.Sprint(len(want)) || e.Metadata.Hash != hash {
					t.Errorf("%s: %s %q, listed %+v", e.Loc, res.Status, body, e.Metadata)
				}
				if sent, _, _ := strings.Cut(res.Header.Get("Content-Type"), "; charset="); sent != e.Metadata.Type || res.Header.Get("Last-Modified") != e.LastMod.Format(http.TimeFormat) {
					t.Errorf("%s: %v, listed %v", e.Loc, res.Header, e)
				}
				if got, want := res.Header.Get("Link"), fmt.Sprintf(`<%sresourcesync/capabilitylist.xml>; rel="resourcesync"`, s.site); got != want {
					t.Errorf("%s: Link %s, want %s", e.Loc, got, want)
				}
			}
			if len(left) > 0 {
				t.Errorf("not listed: %q", slices.Collect(maps.Keys(left)))
			}
			for _, url := range []string{".hidden", "link.html", "none.txt", "resourcesync/none.xml", "resourcesync/sitemap.xml"} {
				if res, _ := s.get(url); res.StatusCode != 404 || res.Header.Get("Link") != "" {
					t.Errorf("%q: %s %v", url, res.Status, res.Header)
				}
			}
		})
	}
}

// Until the first scan has ended, files are served, but no lists.
func TestD14_NotReady(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "small.txt"), "small")
	// A file that takes very long to read, but no space on the disk.
	large := filepath.Join(folder, "large.bin")
	write(t, large, "")
	must(t, os.Truncate(large, 64<<30))

	s := start(t, folder, "--sitemap")
	if len(s.capabilities()) < 3 {
		t.Error("nothing is announced")
	}
	documents := []string{"resourcesync/readyz"}
	for _, name := range []string{"resourcelist", "changelist", "sitemap"} {
		documents = append(documents, "resourcesync/"+name+".xml")
	}
	for _, url := range documents {
		if res, body := s.get(url); res.StatusCode != 503 || strings.HasSuffix(url, ".xml") && res.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s %v\n%s", url, res.Status, res.Header, body)
		}
	}
	if res, body := s.get("resourcesync/healthz"); res.StatusCode != 200 {
		t.Errorf("healthz: %s %s", res.Status, body)
	}
	if res, body := s.get("small.txt"); res.StatusCode != 200 || body != "small" || res.Header.Get("Link") != "" {
		t.Errorf("a file, before it is listed: %s %q %v", res.Status, body, res.Header)
	}
	if s.stdout.String() != "" {
		t.Errorf("said too early: %s", s.stdout)
	}

	must(t, os.Truncate(large, 5))
	s.stdout.await("Ready")
	for _, url := range documents {
		if res, body := s.get(url); res.StatusCode != 200 {
			t.Errorf("%s: %s\n%s", url, res.Status, body)
		}
	}
	if got := s.listed(); got != "large.bin small.txt" {
		t.Errorf("listed: %s", got)
	}
}

// Stopping does not wait for a first scan.
func TestStopBeforeReady(t *testing.T) {
	folder := t.TempDir()
	large := filepath.Join(folder, "large.bin")
	write(t, large, "")
	must(t, os.Truncate(large, 64<<30))
	s := start(t, folder)
	s.stop()
	if s.stdout.String() != "" {
		t.Errorf("said: %s", s.stdout)
	}
}

// Changes of files appear in the Change List, and each file is served in its new state.
func TestChanges(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, key := range []string{"a.txt", "b.txt", "c.txt"} {
		write(t, filepath.Join(folder, key), key)
	}
	s := startReady(t, folder, "--rescan", "1s") // in case this system reports no changes
	if got := s.changes(); len(got) > 0 {
		t.Errorf("at the beginning: %q", got)
	}
	path := func(key string) string { return filepath.Join(folder, key) }
	var want []string
	for _, step := range []struct {
		name   string
		do     func()
		change []string
		listed string
	}{
		{"create", func() { s.write("new/d.txt", "d") }, []string{"created new/d.txt"}, "a.txt b.txt c.txt new/d.txt"},
		{"modify", func() { s.write("a.txt", "a, modified") }, []string{"updated a.txt"}, "a.txt b.txt c.txt new/d.txt"},
		{"rename", func() { must(t, os.Rename(path("b.txt"), path("z.txt"))) }, []string{"created z.txt", "deleted b.txt"}, "a.txt c.txt new/d.txt z.txt"},
		{"delete", func() { must(t, os.Remove(path("c.txt"))) }, []string{"deleted c.txt"}, "a.txt new/d.txt z.txt"},
		{"delete folder", func() { must(t, os.RemoveAll(path("new"))) }, []string{"deleted new/d.txt"}, "a.txt z.txt"},
	} {
		step.do()
		want = append(want, step.change...)
		got := s.changes()
		for n := 1; len(got) < len(want); n++ {
			s.stderr.awaitMore("changes found", n)
			got = s.changes()
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s: changes\n%q\nwant\n%q", step.name, got, want)
		}
		if got := s.listed(); got != step.listed {
			t.Errorf("%s: listed %s, want %s", step.name, got, step.listed)
		}
	}
	if res, body := s.get("a.txt"); body != "a, modified" || res.Header.Get("Link") == "" {
		t.Errorf("%q %v", body, res.Header)
	}
	if res, _ := s.get("b.txt"); res.StatusCode != 404 || res.Header.Get("Link") != "" {
		t.Errorf("%s %v", res.Status, res.Header)
	}
}

// When the program is stopped, a running download completes.
func TestStopFinishesRequests(t *testing.T) {
	t.Parallel()
	const size = 64 << 20 // more than a connection holds on the way
	folder := t.TempDir()
	large := filepath.Join(folder, "large.bin")
	write(t, large, "")
	must(t, os.Truncate(large, size))
	s := startReady(t, folder)
	res, err := http.Get(s.site + "large.bin")
	must(t, err)
	defer res.Body.Close()
	stopped := make(chan struct{})
	go func() {
		s.stop()
		close(stopped)
	}()
	s.stderr.await("stopping")
	if n, err := io.Copy(io.Discard, res.Body); n != size || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	<-stopped
	if _, err := http.Get(s.site); err == nil {
		t.Error("still there")
	}
}

// A client that reads nothing does not keep the program from ending.
func TestStopBreaksOff(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	folder := t.TempDir()
	large := filepath.Join(folder, "large.bin")
	write(t, large, "")
	must(t, os.Truncate(large, 64<<20))
	s := startReady(t, folder)
	res, err := http.Get(s.site + "large.bin")
	must(t, err)
	defer res.Body.Close()
	s.stop()
	if _, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Error("a download that was broken off ended well")
	}
	s.stderr.await("requests were aborted")
}

// With --log-format json each message is a JSON object.
func TestLogFormat(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "--log-format", "json")
	s.stderr.await(`"msg":"ready"`)
	s.get("resourcesync/changelist/none.xml")
	s.stop()
	for line := range strings.Lines(s.stderr.String()) {
		var message struct{ Msg, Level string }
		if err := json.Unmarshal([]byte(line), &message); err != nil || message.Msg == "" || message.Level == "" {
			t.Errorf("%v: %s", err, line)
		}
	}
}

// TestPrefix: the folder of the documents redirects to the page of the Source, and the folder of a
// set to the page of the set.
func TestPrefix(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]string{"": "description.html", "--pages=false": "description.xml"} {
		s := startReady(t, sampleFolder(t), strings.Fields(flags)...)
		res, _ := s.get("resourcesync/")
		if at := res.Request.URL.Path; res.StatusCode != http.StatusOK || !strings.HasSuffix(at, want) && at != "/.well-known/resourcesync" {
			t.Errorf("%s: %s at %s, want %s", flags, res.Status, at, want)
		}
		if res, err := http.Post(s.site+"resourcesync/", "text/plain", nil); err != nil || res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST: %v %v", res, err)
		}
	}
	for setting, want := range map[string]string{"": "capabilitylist.html", "pages: false\n": "capabilitylist.xml"} {
		file := filepath.Join(t.TempDir(), "site.yaml")
		write(t, file, "listen: 127.0.0.1:0\n"+setting+"sets: [{name: papers, kind: folder, folder: "+sampleFolder(t)+"}]")
		s := startRun(t, file)
		if res, _ := s.get("resourcesync/papers/"); res.StatusCode != http.StatusOK || res.Request.URL.Path != "/resourcesync/papers/"+want {
			t.Errorf("%s: %s at %s, want %s", setting, res.Status, res.Request.URL.Path, want)
		}
	}
}
