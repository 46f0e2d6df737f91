package main

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// The packages contain every file with its current bytes, and a change of a file
// appears in its package.
func TestDumps(t *testing.T) {
	t.Parallel()
	s := startReady(t, sampleFolder(t), "--package-size", "1KiB")
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

// Packages do not read files for their hashes, because the scan has stored them.
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

// With --keep-versions, the Change Dump has every version, also of a file that has
// changed again, and after a restart.
func TestKeepVersions(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	folder := sampleFolder(t)
	state := filepath.Join(t.TempDir(), "state.db")
	flags := []string{"--keep-versions", "1d", "--package-every", "1s", "--state", state, "--base-url", publicURL}
	s := startReady(t, folder, flags...)
	s.write("index.html", "second")
	s.stderr.awaitMore("changes found", 1)
	s.write("index.html", "third")
	s.stderr.awaitMore("changes found", 2)
	must(t, os.Remove(filepath.Join(folder, "index.html")))
	s.stderr.awaitMore("changes found", 3)
	check := func(want string) {
		t.Helper()
		s.awaitVersions(strings.Split(want, ", "))
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

// awaitVersions waits until the packages of the Change Dump have all of want.
func (s *served) awaitVersions(want []string) {
	s.t.Helper()
	var got []string
	for deadline := time.Now().Add(needs.Patience); !slices.Equal(got, want); time.Sleep(50 * time.Millisecond) {
		if got = s.versions(); time.Now().After(deadline) {
			s.t.Fatalf("in the Change Dump: %q, want %q", got, want)
		}
	}
}

// versions returns the changes in the packages of the Change Dump, in the form "updated
// text".
func (s *served) versions() (found []string) {
	s.t.Helper()
	for _, e := range s.list("changedump") {
		res, body := s.get(e.Loc)
		if res.StatusCode != 200 {
			s.t.Fatalf("%s: %s", e.Loc, res.Status)
		}
		z, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
		must(s.t, err)
		manifest := strings.TrimSuffix(e.Loc, ".zip") + ".xml"
		for _, m := range s.document(manifest, "changedump-manifest").Entries {
			content := ""
			if m.Metadata.Path != "" {
				b, err := fs.ReadFile(z, strings.TrimPrefix(m.Metadata.Path, "/"))
				must(s.t, err)
				content = " " + string(b)
			}
			found = append(found, m.Metadata.Change+content)
		}
	}
	return found
}

// Servers that share the state in PostgreSQL and the folder with the copies have every
// version, whichever server has found the change.
func TestKeepVersionsOfReplicas(t *testing.T) {
	t.Parallel()
	folder := sampleFolder(t)
	flags := []string{"--keep-versions", "1d", "--package-every", "1s", "--versions", filepath.Join(t.TempDir(), "shared"), "--state", newPostgres(t), "--base-url", publicURL, "--rescan", "1h"}
	var replicas [2]*served
	for i := range replicas {
		replicas[i] = startReady(t, folder, flags...)
	}
	var want []string
	for i := range 6 {
		text := fmt.Sprint("version ", i)
		replicas[0].write("index.html", text)
		want = append(want, "updated "+text)
		replicas[0].awaitChanges(len(want))
	}
	for _, s := range replicas {
		s.awaitChanges(len(want))
		s.awaitVersions(want)
	}
}

// Copies are kept in a folder that is not served.
func TestVersionsElsewhere(t *testing.T) {
	t.Parallel()
	folder := sampleFolder(t)
	before, err := os.ReadDir(folder)
	must(t, err)
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	for path, hint := range map[string]string{
		folder:                        "give one elsewhere",
		filepath.Join(folder, "new"):  "give one elsewhere",
		file:                          "give another folder with --versions",
		filepath.Join(file, "a", "b"): "--versions",
	} {
		line := refused(t, folder, "--state", filepath.Join(t.TempDir(), "state.db"), "--keep-versions", "1d", "--versions", path)
		if !strings.Contains(line, hint) {
			t.Error(line)
		}
	}
	after, err := os.ReadDir(folder)
	if must(t, err); len(after) != len(before) {
		t.Errorf("something was made in the folder: %v", after)
	}
}

func TestNoDumps(t *testing.T) {
	t.Parallel()
	s := startReady(t, sampleFolder(t), "--dumps=false")
	if c := s.capabilities(); c["resourcedump"] != "" {
		t.Errorf("offered: %v", c)
	}
}
