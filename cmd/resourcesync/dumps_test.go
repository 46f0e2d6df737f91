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

func TestNoDumps(t *testing.T) {
	t.Parallel()
	s := startReady(t, sampleFolder(t), "--dumps=false")
	if c := s.capabilities(); c["resourcedump"] != "" {
		t.Errorf("offered: %v", c)
	}
}
