package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/check"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// startForm starts a command that serves a Source at the address listen, or at any address if it is
// empty, and waits until it is ready.
func startForm(t *testing.T, command, listen string, args ...string) *served {
	t.Helper()
	s := &served{t: t, stdout: newOutput(t), stderr: newOutput(t)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	status := make(chan int, 1)
	go func() { status <- run(ctx, append([]string{command, "--listen", listen}, args...), s.stdout, s.stderr) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if status := <-status; status != 0 {
			t.Errorf("status %d:\n%s", status, s.stderr)
		}
	})
	t.Cleanup(s.stop)
	s.awaitListening()
	s.stdout.await("Ready")
	return s
}

// TestCheckForms: check finds no faults in any form of our own Sources, after resources have been
// created, updated and deleted.
func TestCheckForms(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]func(t *testing.T) (site string){
		"folder": folderForm, "proxy": proxyForm, "build": buildForm, "archive": archiveForm, "run": runForm,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "folder" {
				needs.Time(t)
			}
			expectClean(t, form(t), nil)
		})
	}
	t.Run("table", func(t *testing.T) {
		tableEngines(t, func(t *testing.T, e *tableEngine) {
			expectClean(t, tableForm(t, e), nil)
		})
	})
	t.Run("WordPress", func(t *testing.T) {
		u, err := url.Parse(needs.Variable(t, wordpress))
		must(t, err)
		p := startProxy(t, "http://"+u.Host, "http://wordpress.example/", "--dumps")
		p.stdout.await("Ready")
		expectClean(t, p.base, p.client.Transport)
	})
}

// expectClean checks a Source completely, and expects no findings.
func expectClean(t *testing.T, site string, transport http.RoundTripper) {
	t.Helper()
	var r *check.Report
	if transport == nil {
		status, stdout, stderr := runCheck(t, site, "--all", "--format", "json")
		if status != 0 || stderr != "" {
			t.Errorf("status %d, %s", status, stderr)
		}
		must(t, json.Unmarshal([]byte(stdout), &r))
	} else {
		var err error
		r, err = check.Check(t.Context(), site, &check.Options{All: true, Pause: time.Millisecond, Transport: transport})
		must(t, err)
	}
	for _, f := range r.Findings {
		t.Errorf("%s (%s, %s) %s:%d: %s", f.Rule, f.Harm, f.Section, f.Document, f.Line, f.Message)
	}
	if len(r.Unchecked) > 0 || r.Documents < 4 || r.Resources < 3 {
		t.Errorf("%d documents and %d resources are checked, not %q", r.Documents, r.Resources, r.Unchecked)
	}
}

// fillFolder writes files with the names f0 to f11.
func fillFolder(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for i := range 12 {
		write(t, filepath.Join(folder, fmt.Sprintf("f%d.txt", i)), strings.Repeat(fmt.Sprint("content ", i), 100))
	}
	return folder
}

// changeFolder creates, updates and deletes files, and waits until the documents show it.
func (s *served) changeFolder(lists string) {
	s.t.Helper()
	s.write("new ä.txt", "text")
	s.write("f1.txt", "other")
	must(s.t, os.Remove(filepath.Join(s.folder, "f2.txt")))
	s.until("the changes are listed", func() bool {
		_, changes := s.get(s.site + lists + "changelist/recent.xml")
		return strings.Contains(changes, "new%20") && strings.Contains(changes, "/f1.txt") && strings.Contains(changes, "/f2.txt")
	})
}

func folderForm(t *testing.T) string {
	s := startReady(t, fillFolder(t), "--page-size", "5", "--dumps", "--keep-versions", "30d", "--hub", "own", "--websocket", "--sitemap", "--state", filepath.Join(t.TempDir(), "state.db"))
	s.changeFolder("resourcesync/")
	return s.site
}

// archiveForm has Change Lists that only the archive lists.
func archiveForm(t *testing.T) string {
	s := startReady(t, fillFolder(t), "--window", "1s", "--retain", "1s", "--archive", "1d", "--rescan", "1s", "--page-size", "5")
	s.until("a list is archived", func() bool {
		s.write("a", time.Now().String())
		res, text := s.get("resourcesync/changelistarchive.xml") // 503 while something is written
		return res.StatusCode == http.StatusOK && strings.Contains(text, "<url>")
	})
	s.write("a", "end")
	s.until("the last change is listed, and the Change List reaches back to the Resource List", func() bool { // within the second of --retain
		_, lists := s.get("resourcesync/resourcelist.xml")
		_, changes := s.get("resourcesync/changelist.xml")
		return slices.ContainsFunc(s.list("resourcelist"), func(e entry) bool { return strings.HasSuffix(e.Loc, "/a") && e.Metadata.Length == "3" }) &&
			firstTime(t, changes, "from") <= firstTime(t, lists, "at")
	})
	return s.site
}

// firstTime returns the first attribute with a name in a document.
func firstTime(t *testing.T, text, name string) string {
	t.Helper()
	m := regexp.MustCompile(` ` + name + `="([^"]*)"`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in %s", name, text)
	}
	return m[1]
}

// runForm has two sets in one process.
func runForm(t *testing.T) string {
	listen, papers := needs.Address(t), fillFolder(t)
	file := filepath.Join(t.TempDir(), "site.yaml")
	write(t, file, fmt.Sprintf(`listen: %s
base-url: http://%[1]s/
state: %s
page-size: 5
websocket: true
sets:
  - {name: papers, kind: folder, folder: %q, path: /papers/, dumps: true}
  - {name: letters, kind: folder, folder: %q, path: /letters/}
`, listen, filepath.Join(t.TempDir(), "state.db"), papers, fillFolder(t)))
	s := startForm(t, "run", listen, file)
	s.folder = papers
	s.changeFolder("resourcesync/papers/")
	return s.site
}

// buildForm has files that a web server serves, with its compressed copies.
func buildForm(t *testing.T) string {
	var b *built
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := os.Stat(filepath.Join(b.folder, r.URL.Path+".gz")); err == nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Type", "application/xml")
			w.Header().Set("Content-Encoding", "gzip")
			http.ServeFile(w, r, filepath.Join(b.folder, r.URL.Path+".gz"))
			return
		}
		fileServer(&b.folder).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b = newBuilt(t, "", server.URL+"/", "--page-size", "10", "--gzip", "--sitemap", "--dumps", "--dumps-every", "0")
	b.build()
	b.write(1, "second")
	b.write(31, "new")
	must(t, os.Remove(filepath.Join(b.folder, "files", "2.txt")))
	b.build()
	return server.URL + "/"
}

// proxyForm has a website with a sitemap.
func proxyForm(t *testing.T) string {
	var mu sync.Mutex
	pages := map[string]string{"/": "front", "/a": "a", "/b": "b", "/c": "c", "/d": "d"}
	listen := needs.Address(t)
	site := "http://" + listen
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch path := r.URL.Path; {
		case path == "/sitemap.xml":
			fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
			for page := range pages {
				fmt.Fprintf(w, "<url><loc>%s%s</loc></url>", site, page)
			}
			fmt.Fprint(w, "</urlset>")
		case r.Method == http.MethodPut:
			pages[path] = "new"
		case r.Method == http.MethodDelete:
			delete(pages, path)
		case pages[path] == "":
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, "<!doctype html><html><head><title>%s</title></head></html>", pages[path])
		}
	}))
	t.Cleanup(upstream.Close)
	s := startForm(t, "proxy", listen, "--upstream", upstream.URL, "--base-url", site+"/", "--rate", "1000", "--state", filepath.Join(t.TempDir(), "state.db"), "--page-size", "3", "--dumps", "--sitemap", "--html-link")
	for _, change := range [][2]string{{http.MethodPut, "/new"}, {http.MethodPut, "/a"}, {http.MethodDelete, "/b"}} {
		r, err := http.NewRequestWithContext(t.Context(), change[0], site+change[1], http.NoBody)
		must(t, err)
		res, err := http.DefaultClient.Do(r)
		must(t, err)
		res.Body.Close()
	}
	s.until("the changes are listed", func() bool {
		_, changes := s.get(site + "/resourcesync/changelist/recent.xml")
		return strings.Contains(changes, "/new<") && strings.Contains(changes, "/a<") && strings.Contains(changes, `change="deleted"`)
	})
	return site + "/"
}

// tableForm has a website whose pages are rows. It passes requests for documents on.
func tableForm(t *testing.T, e *tableEngine) string {
	var documents http.Handler
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/resourcesync/") || strings.HasPrefix(r.URL.Path, "/.well-known/") || strings.HasPrefix(r.URL.Path, "/websub/") {
			documents.ServeHTTP(w, r)
			return
		}
		var size int
		if err := e.db.QueryRowContext(r.Context(), "SELECT size FROM posts WHERE slug = '"+strings.Trim(r.URL.Path, "/'")+"'").Scan(&size); err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(size))
		w.Write(bytes.Repeat([]byte("x"), size))
	}))
	t.Cleanup(front.Close)
	e.exec(t, "ALTER TABLE posts ADD COLUMN changed BIGINT NOT NULL DEFAULT 1700000000")
	for id := range 7 {
		e.exec(t, fmt.Sprintf("INSERT INTO posts (id, slug, size) VALUES (%d, 'p%d', %d)", id, id, 10+id))
	}
	table := []string{"--db", e.flag, "--table", "posts", "--key", "id", "--uri", front.URL + "/{slug}", "--length", "size", "--lastmod", "changed"}
	if status, _, stderr := runTriggersCommand(t, append(slices.Clone(table), "--apply")...); status != 0 {
		t.Fatal(stderr)
	}
	s := startForm(t, "table", "127.0.0.1:0", append(table, "--state", e.state, "--base-url", front.URL+"/", "--page-size", "3", "--websocket")...)
	listener, err := url.Parse(s.site)
	must(t, err)
	documents = httputil.NewSingleHostReverseProxy(listener)
	e.exec(t, "INSERT INTO posts (id, slug, size) VALUES (8, 'p8', 8)", "UPDATE posts SET size = 1, changed = 1700000001 WHERE id = 1", "DELETE FROM posts WHERE id = 2")
	s.until("the changes are listed", func() bool {
		_, changes := s.get(front.URL + "/resourcesync/changelist/recent.xml")
		return strings.Contains(changes, "/p8<") && strings.Contains(changes, "/p1<") && strings.Contains(changes, "/p2<")
	})
	return front.URL + "/"
}
