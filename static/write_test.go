package static

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/rshttp"
)

// TestServed holds that files have the bytes that a Source serves, but for the names of parts.
func TestServed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.options.PlainSitemaps = true
	s.put(1, 60, "first")
	s.write(Options{Gzip: true})
	src, err := rshttp.New(origin+"/rs/", []rshttp.Set{{Name: "papers", Provider: s.set}}, &rshttp.Options{Division: rshttp.Division(s.options.Division), Sitemaps: rshttp.PlainSitemaps})
	must(t, err)
	served := func(path string) string {
		w := httptest.NewRecorder()
		src.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != 200 {
			t.Errorf("%s: %d", path, w.Code)
		}
		return w.Body.String()
	}
	loc := regexp.MustCompile("<loc>" + origin + "(/rs/papers/(resourcelist|sitemap)/[^<]*)</loc>")
	for name := range s.files() {
		if partName.MatchString(name) && !strings.Contains(name, "/changelist/") || strings.HasSuffix(name, gz) || strings.Contains(name, ".static.") {
			continue
		}
		text := s.read(name)
		want := served("/" + name)
		ours, theirs := loc.FindAllStringSubmatch(text, -1), loc.FindAllStringSubmatch(want, -1)
		for i := range theirs {
			if ours[i][1] == theirs[i][1] {
				t.Errorf("%s: a part has the name %s", name, ours[i][1])
			}
			if s.read(ours[i][1]) != served(theirs[i][1]) {
				t.Errorf("%s is not %s", ours[i][1], theirs[i][1])
			}
		}
		if loc.ReplaceAllString(text, "") != loc.ReplaceAllString(want, "") {
			t.Errorf("%s:\n%s\nserved:\n%s", name, text, want)
		}
		z, err := gzip.NewReader(strings.NewReader(s.read(name + gz)))
		must(t, err)
		if unzipped, err := io.ReadAll(z); err != nil || string(unzipped) != text {
			t.Errorf("%s.gz is not its compressed copy: %v", name, err)
		}
	}
}

func (s *site) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.out, filepath.FromSlash(name)))
	must(s.t, err)
	return string(text)
}

// TestGrace holds that files stay for a while after the last link to them is gone, and that
// they are used again if they are listed again.
func TestGrace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put(1, 60, "first")
	s.write(Options{})
	s.delete(16, 60)
	if report := s.write(Options{}); len(report.Removed) > 0 || report.Unlisted == 0 {
		t.Errorf("%+v", report)
	}
	time.Sleep(1100 * time.Millisecond)
	report := s.write(Options{Grace: time.Second})
	if len(report.Removed) == 0 || report.Unlisted != 0 || len(report.Written) > 0 {
		t.Errorf("%+v", report)
	}
	s.check(15, 0)
}

// TestOthers holds that files of others are never replaced or removed, and that damaged files
// are mended.
func TestOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put(1, 5, "first")
	other := filepath.Join(s.out, ".well-known", "resourcesync")
	must(t, os.MkdirAll(filepath.Dir(other), 0o755))
	must(t, os.WriteFile(other, []byte("other"), 0o644))
	for range 2 { // once more after the failure
		if _, err := Write(t.Context(), s.out, s.source(), nil); err == nil || !strings.Contains(err.Error(), ".well-known/resourcesync exists") {
			t.Errorf("error %v", err)
		}
	}
	if s.read(".well-known/resourcesync") != "other" {
		t.Error("the file of another program has been replaced")
	}
	must(t, os.Remove(other))
	s.write(Options{Gzip: true})

	list := filepath.Join(s.out, "rs", "papers", "resourcelist.xml")
	must(t, os.WriteFile(list, []byte("damaged"), 0o644))
	must(t, os.Remove(list+gz))
	if report := s.write(Options{Gzip: true}); len(report.Written) != 2 {
		t.Errorf("mended: %q", report.Written)
	}
	if report := s.write(Options{}); len(report.Removed) == 0 || len(report.Written) > 0 {
		t.Errorf("without compressed copies: %+v", report)
	}
	must(t, os.Remove(list))
	must(t, os.Mkdir(list, 0o755))
	if _, err := Write(t.Context(), s.out, s.source(), nil); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("error %v", err)
	}
}

// TestLocked holds that two Writes do not work in a folder at the same time.
func TestLocked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put(1, 5, "first")
	tried := false
	s.write(Options{changed: func() {
		if !tried {
			tried = true
			if _, err := Write(t.Context(), s.out, s.source(), nil); !errors.Is(err, ErrLocked) {
				t.Errorf("error %v", err)
			}
		}
	}})
	if !tried {
		t.Error("nothing was written")
	}
}

// TestDumpEvery holds that a Resource Dump stays as it is for DumpEvery, unless it is damaged
// or its URLs change.
func TestDumpEvery(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.dumps = true
	s.put(1, 5, "first")
	s.write(Options{})
	isDump := func(name string) bool { return strings.Contains(name, "/resourcedump") }
	s.put(3, 3, "second")
	report := s.write(Options{})
	if slices.ContainsFunc(report.Written, isDump) || len(report.Written) == 0 {
		t.Errorf("written: %q", report.Written)
	}
	must(t, os.Remove(filepath.Join(s.out, "rs", "papers", "resourcedump.xml")))
	if report := s.write(Options{}); !slices.ContainsFunc(report.Written, isDump) {
		t.Errorf("written: %q", report.Written)
	}
	s.put(3, 3, "third")
	if report := s.write(Options{DumpEvery: time.Nanosecond}); !slices.ContainsFunc(report.Written, isPackage) {
		t.Errorf("written: %q", report.Written)
	}
	s.put(3, 3, "fourth")
	s.options.Division.PackageSize = 50
	if report := s.write(Options{}); !slices.ContainsFunc(report.Written, isPackage) {
		t.Errorf("written: %q", report.Written)
	}
}

// TestConcurrentWrites: files of a folder that are written at the same time are whole.
func TestConcurrentWrites(t *testing.T) {
	t.Parallel()
	files, err := openTree(t.TempDir(), nil)
	must(t, err)
	defer files.close()
	var writing sync.WaitGroup
	for i := range 4 {
		writing.Go(func() {
			name, content := fmt.Sprint("a/", i), Content{WriterTo: text(strings.Repeat(fmt.Sprint(i), 1000))}
			for range 20 {
				if _, err := files.Write(t.Context(), name, content, Stamp{}); err != nil {
					t.Error(err)
				} else if _, same, err := files.Compare(t.Context(), name, content); err != nil || !same {
					t.Errorf("%s has the content of another: %v", name, err)
				}
			}
		})
	}
	writing.Wait()
}
