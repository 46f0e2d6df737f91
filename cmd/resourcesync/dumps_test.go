package main

import (
	"archive/zip"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The packages have every file, with the bytes that it has, and a change of one
// shows in its package.
func TestDumps(t *testing.T) {
	t.Parallel()
	s := startReady(t, sampleFolder(t), "--package-size", "40B")
	files := maps.Clone(sampleFiles)
	check := func() {
		t.Helper()
		found := map[string]string{}
		for _, e := range s.list("resourcedump") {
			_, body := s.get(e.Loc)
			z, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
			must(t, err)
			for _, m := range s.document(strings.TrimSuffix(e.Loc, ".zip")+".xml", "resourcedump-manifest").Entries {
				content, err := fs.ReadFile(z, strings.TrimPrefix(m.Metadata.Path, "/"))
				must(t, err)
				key, err := url.PathUnescape(s.key(m.Loc))
				must(t, err)
				found[key] = string(content)
			}
		}
		if !maps.Equal(found, files) {
			t.Errorf("in the packages: %q", found)
		}
	}
	check()
	files["index.html"] = "<p>another front"
	s.write("index.html", files["index.html"])
	s.stderr.await("changes found")
	check()
}

// Nothing is read twice for a package: what the scan has read is enough.
func TestDumpsReadNothing(t *testing.T) {
	t.Parallel()
	folder := sampleFolder(t)
	s := startReady(t, folder)
	must(t, os.Truncate(filepath.Join(folder, "empty"), 10)) // behind the back of the set
	loc := s.list("resourcedump")[0].Loc
	if res, err := http.Head(loc); err != nil || res.StatusCode != 200 {
		t.Errorf("%v, %v", res, err)
	}
}

// With copies of what changes, the Change Dump has every version, also of a file
// that has changed again, and after a restart.
func TestKeepVersions(t *testing.T) {
	t.Parallel()
	folder := sampleFolder(t)
	state := filepath.Join(t.TempDir(), "state.db")
	flags := []string{"--keep-versions", "1d", "--state", state, "--base-url", publicURL}
	s := startReady(t, folder, flags...)
	s.write("index.html", "second")
	s.stderr.awaitMore("changes found", 1)
	s.write("index.html", "third")
	s.stderr.awaitMore("changes found", 2)
	must(t, os.Remove(filepath.Join(folder, "index.html")))
	s.stderr.awaitMore("changes found", 3)
	check := func(want string) {
		t.Helper()
		var found []string
		for _, e := range s.list("changedump") {
			_, body := s.get(e.Loc)
			z, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
			must(t, err)
			manifest := strings.TrimSuffix(e.Loc, ".zip") + ".xml"
			for _, m := range s.document(manifest, "changedump-manifest").Entries {
				content := ""
				if m.Metadata.Path != "" {
					b, err := fs.ReadFile(z, strings.TrimPrefix(m.Metadata.Path, "/"))
					must(t, err)
					content = " " + string(b)
				}
				found = append(found, m.Metadata.Change+content)
			}
		}
		if got := strings.Join(found, ", "); got != want {
			t.Errorf("in the Change Dump: %s, want %s", got, want)
		}
	}
	check("updated second, updated third, deleted")
	s.stop()
	write(t, filepath.Join(folder, "index.html"), "fourth")
	s = startReady(t, folder, flags...)
	s.stderr.await("changes found")
	check("updated second, updated third, deleted, created fourth")
	kept, err := filepath.Glob(state + "-versions/??/*")
	if must(t, err); len(kept) != 3 {
		t.Errorf("%d copies: %v", len(kept), kept)
	}
}

func TestNoDumps(t *testing.T) {
	t.Parallel()
	s := startReady(t, sampleFolder(t), "--dumps=false")
	if c := s.capabilities(); c["resourcedump"] != "" {
		t.Errorf("offered: %v", c)
	}
}
