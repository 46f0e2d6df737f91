package browse_test

import (
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/adapters/dir/browse"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/scan"
)

const base = "https://example.org/pub/"

// A site is a folder that has been scanned into a set.
type site struct {
	http.Handler
	here string
	dir  *dir.Dir
	set  *sqlstore.Set
}

func newSite(t testing.TB, paths ...string) *site {
	t.Helper()
	s := &site{here: t.TempDir()}
	for _, path := range paths {
		s.write(t, path)
	}
	quiet := slog.New(slog.DiscardHandler)
	var err error
	s.dir, err = dir.Open(s.here, base, &dir.Options{Logger: quiet, Exclude: func(path string, _ bool) bool { return path == "reserved" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.dir.Close() })
	store, err := sqlitestore.OpenFile(t.Context(), filepath.Join(t.TempDir(), "state"), &sqlstore.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if s.set, err = store.Set(t.Context(), "files", &scan.SetOptions{AwaitScan: true}); err != nil {
		t.Fatal(err)
	}
	s.Handler = browse.Handler(s.dir, s.set, &browse.Options{Source: "https://example.org/source", Logger: quiet})
	return s
}

func (s *site) write(t testing.TB, path string) {
	t.Helper()
	path = filepath.Join(s.here, path)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte("text"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (s *site) scan(t testing.TB) *site {
	t.Helper()
	if _, err := s.set.Scan(t.Context(), s.dir.Resources(t.Context())); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) do(method, target string, header ...string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	s.ServeHTTP(w, r)
	return w
}

var links = regexp.MustCompile(`<td>.*?<a href="([^"]*)"><bdi>([^<]*)</bdi></a></td>`)

// names returns the names of the entries of a page.
func names(page string) []string {
	var all []string
	for _, m := range links.FindAllStringSubmatch(page, -1) {
		all = append(all, html.UnescapeString(m[2]))
	}
	return all
}

var nextLink = regexp.MustCompile(`<a class="next" href="([^"]*)"`)

func next(page string) string {
	if m := nextLink.FindStringSubmatch(page); m != nil {
		return html.UnescapeString(m[1])
	}
	return ""
}
