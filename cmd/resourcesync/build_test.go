package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/check"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/paths"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// A built folder has its documents written as files.
type built struct {
	t      testing.TB
	folder string
	flags  []string
}

func newBuilt(t testing.TB, out, baseURL string, flags ...string) *built {
	b := &built{t: t, folder: t.TempDir()}
	b.flags = append([]string{"--out", cmp.Or(out, b.folder), "--base-url", baseURL, "--state", filepath.Join(t.TempDir(), "state.db")}, flags...)
	for i := range 30 {
		b.write(i, "first")
	}
	return b
}

// write writes a file in a way that a scan notices.
func (b *built) write(i int, text string) {
	b.t.Helper()
	path := filepath.Join(b.folder, "files", strconv.Itoa(i)+".txt")
	write(b.t, path, strings.Repeat(text, i+1))
	at := time.Now().Add(-time.Hour)
	must(b.t, os.Chtimes(path, at, at))
}

// A buildResult is the output of build --json.
type buildResult struct {
	Listed, Created, Updated, Deleted, Held, Documents, Unlisted int
	Written, Removed                                             []string
}

// try builds and returns the exit status.
func (b *built) try(flags ...string) (result buildResult, status int, stderr string) {
	b.t.Helper()
	var stdout, errs bytes.Buffer
	args := slices.Concat([]string{"build", b.folder, "--json"}, b.flags, flags)
	status = run(b.t.Context(), args, &stdout, &errs)
	if stdout.Len() > 0 {
		must(b.t, json.Unmarshal(stdout.Bytes(), &result))
	}
	return result, status, errs.String()
}

// build builds, which must succeed.
func (b *built) build(flags ...string) buildResult {
	b.t.Helper()
	result, status, stderr := b.try(flags...)
	if status != 0 {
		b.t.Fatalf("status %d: %s", status, stderr)
	}
	return result
}

// TestBuild builds documents beside the files, again, after changes, and after too many
// deletions.
func TestBuild(t *testing.T) {
	t.Parallel()
	b := newBuilt(t, "", "https://files.example.org/", "--page-size", "10", "--grace", "0")
	if r := b.build(); r.Listed != 30 || r.Documents < 6 || len(r.Written) != r.Documents {
		t.Errorf("%+v", r)
	}
	if r := b.build(); r.Listed != 30 || len(r.Written)+len(r.Removed) != 0 {
		t.Errorf("without a change: %+v", r)
	}
	b.write(7, "second")
	if r := b.build(); r.Updated != 1 || len(r.Written) != 3 {
		t.Errorf("after one change: %+v", r)
	}
	for i := range 20 {
		must(t, os.Remove(filepath.Join(b.folder, "files", strconv.Itoa(i)+".txt")))
	}
	r, status, stderr := b.try()
	if status != 1 || r.Listed != 30 || r.Held != 20 || len(r.Written) != 0 || !strings.Contains(stderr, "deletions are held") {
		t.Errorf("status %d: %+v\n%s", status, r, stderr)
	}
	outputOf(t, "confirm-deletions", b.folder, "--state", b.flags[5])
	if r := b.build(); r.Deleted != 20 || r.Listed != 10 || len(r.Removed) == 0 {
		t.Errorf("confirmed: %+v", r)
	}
}

// TestBuildErrors: an error is one line, and nothing is written.
func TestBuildErrors(t *testing.T) {
	b := newBuilt(t, "", "https://files.example.org/")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no folder":   {[]string{"--out", "x", "--base-url", "https://example.org/"}, "no folder given"},
		"no out":      {[]string{b.folder, "--base-url", "https://example.org/"}, "--out /var/www/html"},
		"no base URL": {[]string{b.folder, "--out", b.folder}, "--base-url https://"},
		"versions":    {slices.Concat([]string{b.folder, "--keep-versions", "1d"}, b.flags), "give --dumps"},
		"file":        {slices.Concat([]string{b.folder}, b.flags, []string{"--out", filepath.Join(b.folder, "files", "1.txt")}), "is a file"},
		"nowhere":     {slices.Concat([]string{b.folder}, b.flags, []string{"--out", filepath.Join(b.folder, "no", "where")}), "there is no folder"},
		"of serve":    {slices.Concat([]string{b.folder, "--listen", ":80"}, b.flags), "unknown flag --listen"},
	} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), append([]string{"build"}, test.args...), &stdout, &stderr); status != 2 || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("%s: status %d, %s", name, status, &stderr)
		}
	}
	write(t, filepath.Join(b.folder, ".well-known", "resourcesync"), "mine")
	if _, status, stderr := b.try(); status != 1 || !strings.Contains(stderr, "has not been written by this program") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

// buildSnippet returns the nginx snippet of the documentation for a folder.
func buildSnippet(t *testing.T, root, site string) string {
	t.Helper()
	return strings.NewReplacer("/srv/www", root, "https://www.example.org/", site).Replace(snippet(t, "build.md", "## nginx", "nginx"))
}

// TestBuildServedByNginx: a folder that nginx serves with the snippet of the documentation has
// no faults, and a mirror of it is identical, by lists and by dumps.
func TestBuildServedByNginx(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	listen := needs.Address(t)
	site := "http://" + listen + "/"
	b := newBuilt(t, "", site, "--page-size", "10", "--gzip", "--sitemap", "--dumps", "--keep-versions", "1d", "--package-every", "1s", "--package-size", "2KB", "--window", "1s")
	for _, folder := range []string{b.folder, filepath.Dir(b.folder)} {
		must(t, os.Chmod(folder, 0o755))
	}
	b.build()
	startNginx(t, listen, buildSnippet(t, b.folder, site))
	copied := t.TempDir()
	for round, text := range []string{"first", "second", "third"} {
		for i := range 12 * round {
			b.write(i, text)
		}
		b.build("--dumps-every", "0")
		if status, stdout, stderr := runMirror(t, site, copied); status != 0 {
			t.Fatalf("mirror: status %d: %s%s", status, stdout, stderr)
		}
		want := contents(t, filepath.Join(b.folder, "files"))
		if got := contents(t, filepath.Join(copied, "files")); !maps.Equal(got, want) {
			t.Errorf("%s: the copy has %d files, or others than the %d published ones", text, len(got), len(want))
		}
		time.Sleep(1100 * time.Millisecond) // a new window
	}
	report, err := check.Check(t.Context(), site, &check.Options{All: true, Pause: -1})
	must(t, err)
	for _, f := range report.Findings {
		if f.Harm != check.Advice || f.Force == check.Must {
			t.Errorf("%+v", f)
		}
	}
	if report.Documents < 10 || report.Resources == 0 || report.Packages == 0 {
		t.Errorf("%d documents, %d resources, %d packages are checked", report.Documents, report.Resources, report.Packages)
	}
	for path, want := range map[string]int{"resourcesync/.static.json": 404, "files/1.txt": 200, ".well-known/resourcesync": 200} {
		res, _ := get(t, site+path)
		linked := strings.Contains(res.Header.Get("Link"), "/resourcesync/capabilitylist.xml")
		if res.StatusCode != want || linked != strings.HasPrefix(path, "files/") {
			t.Errorf("%s: %s, %v", path, res.Status, res.Header)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", site+"resourcesync/resourcelist.xml", nil)
	must(t, err)
	req.Header.Set("Accept-Encoding", "gzip")
	res, err := http.DefaultTransport.RoundTrip(req)
	must(t, err)
	res.Body.Close()
	if res.Header.Get("Content-Encoding") != "gzip" || res.Header.Get("Content-Type") != "application/xml" {
		t.Errorf("%v", res.Header)
	}
}

// fileServer serves a folder as a plain web server does.
func fileServer(folder *string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".xml") || r.URL.Path == wellknown.Path {
			w.Header().Set("Content-Type", "application/xml")
		}
		http.FileServer(http.Dir(*folder)).ServeHTTP(w, r)
	})
}

// TestBuildKilled kills builds at random moments. No link in the documents is broken then,
// and the last build completes them.
func TestBuildKilled(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	kills, err := strconv.Atoi(cmp.Or(os.Getenv("RESOURCESYNC_KILLS"), "3"))
	must(t, err)
	program, err := os.Executable()
	must(t, err)
	var folder string
	server := httptest.NewServer(fileServer(&folder))
	defer server.Close()
	b := newBuilt(t, "", server.URL+"/", "--page-size", "5", "--dumps", "--dumps-every", "0", "--grace", "0", "--package-size", "1KiB", "--max-delete", "100%")
	folder = b.folder
	checked := func() *check.Report {
		report, err := check.Check(t.Context(), server.URL+"/", &check.Options{All: true, Pause: -1})
		must(t, err)
		return report
	}
	for n := range kills {
		for i := range 30 {
			if rand.N(3) == 0 {
				b.write(i, fmt.Sprint("text ", n))
			} else if err := os.Remove(filepath.Join(b.folder, "files", strconv.Itoa(i)+".txt")); rand.N(4) > 0 && err == nil {
				b.write(i, "back")
			}
		}
		cmd := exec.CommandContext(t.Context(), program, slices.Concat([]string{"build", b.folder}, b.flags)...)
		cmd.Env = append(os.Environ(), beMain+"=1")
		must(t, cmd.Start())
		time.Sleep(rand.N(400 * time.Millisecond))
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if paths.Exists(filepath.Join(b.folder, ".well-known", "resourcesync")) {
			report := checked()
			for _, rule := range []string{"unreachable", "package-unreachable"} {
				if report.Counts[rule] > 0 {
					t.Errorf("kill %d: %+v", n, report.Findings)
				}
			}
		}
	}
	b.build()
	if report := checked(); !report.OK() {
		t.Errorf("%+v", report.Findings)
	}
	if again := b.build(); len(again.Written)+len(again.Removed) > 0 {
		t.Errorf("once more: %+v", again)
	}
}

// TestBuildTwice: a build that meets another one fails with the exit status of a temporary
// error.
func TestBuildTwice(t *testing.T) {
	b := newBuilt(t, "", "https://files.example.org/")
	lock, err := state.Open(t.Context(), b.flags[5], "sets", nil)
	must(t, err)
	if _, status, stderr := b.try(); status != 1 || !strings.Contains(stderr, "is in use by another resourcesync") {
		t.Errorf("status %d: %s", status, stderr)
	}
	must(t, lock.Close())
	b.build()
}
