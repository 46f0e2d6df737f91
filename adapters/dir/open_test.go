package dir

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

func TestOpenOnlyTheVersionListed(t *testing.T) {
	here := t.TempDir()
	path := filepath.Join(here, "a")
	write(t, here, "a", "one")
	d := openDir(t, here, &Options{Exclude: func(path string, _ bool) bool { return path == "excluded" }})
	listed := complete(t, d)["a"]
	unstamped := listed
	unstamped.Stamp = ""

	write(t, here, "excluded", "one")
	for name, test := range map[string]struct {
		change func() error
		r      resourcesync.Resource
		opens  bool
	}{
		"as listed":        {nil, listed, true},
		"without a stamp":  {nil, unstamped, true},
		"a key alone":      {nil, resourcesync.Resource{Key: "a"}, true},
		"no key":           {nil, resourcesync.Resource{}, false},
		"a folder":         {nil, resourcesync.Resource{Key: "."}, false},
		"excluded":         {nil, resourcesync.Resource{Key: "excluded"}, false},
		"other stamp":      {nil, resourcesync.Resource{Key: "a", Stamp: "x"}, false},
		"other length":     {nil, resourcesync.Resource{Key: "a", Length: resourcesync.Bytes(4)}, false},
		"other time":       {nil, resourcesync.Resource{Key: "a", LastModified: time.Unix(0, 0)}, false},
		"rewritten":        {func() error { return os.WriteFile(path, []byte("other"), 0o644) }, listed, false},
		"rewritten, plain": {func() error { return os.WriteFile(path, []byte("other"), 0o644) }, unstamped, false},
		"removed":          {func() error { return os.Remove(path) }, listed, false},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, here, "a", "one")
			must(t, os.Chtimes(path, listed.LastModified, listed.LastModified))
			if test.r.Stamp == listed.Stamp {
				test.r = complete(t, d)["a"]
			}
			if test.change != nil {
				must(t, test.change())
			}
			f, err := d.Open(t.Context(), test.r)
			if err == nil {
				f.Close()
			}
			if test.opens != (err == nil) || err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestOpenHeedsItsContext(t *testing.T) {
	here := t.TempDir()
	write(t, here, "a", "one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := openDir(t, here, nil).Open(ctx, resourcesync.Resource{Key: "a"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestLists(t *testing.T) {
	here := t.TempDir()
	for _, path := range []string{"a", "b/c", "b/.d/e", ".f", "excluded/g", "h"} {
		must(t, os.MkdirAll(filepath.Join(here, filepath.Dir(path)), 0o755))
		write(t, here, path, "text")
	}
	must(t, os.Symlink("a", filepath.Join(here, "link")))
	must(t, os.Symlink("b", filepath.Join(here, "b-link")))
	d := openDir(t, here, &Options{Exclude: func(path string, isDir bool) bool { return path == "excluded" && isDir || path == "h" }})
	for key, want := range map[string]bool{
		"": true, "a": true, "b/": true, "b/c": true,
		"a/": false, "b": false, "b//": false, "/": false, "b/../": false, "../": false, "./": false, ".": false, "b/.": false,
		"none": false, "none/": false, ".f": false, "b/.d/": false, "b/.d/e": false, "h": false, "excluded/": false, "excluded/g": false,
		"link": false, "b-link/": false, "b-link/c": false, "a\x00": false, "b\x00/": false,
	} {
		if got := d.Lists(key); got != want {
			t.Errorf("Lists(%q) is %t", key, got)
		}
		u := &url.URL{Path: d.basePath + key}
		if got := d.Covers(u); got != (want && !isFolder(key)) {
			t.Errorf("Covers(%v) is %t", u, got)
		}
	}
}

func TestHandlerNext(t *testing.T) {
	here := t.TempDir()
	write(t, here, "a", "text")
	write(t, here, ".b", "text")
	d := openDir(t, here, nil)
	h := d.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	base, err := url.Parse(d.URL())
	must(t, err)
	for _, test := range []struct {
		method, path string
		status       int
	}{
		{"GET", base.Path + "a", 200},
		{"GET", base.Path + "b", 418},
		{"HEAD", base.Path + ".b", 418},
		{"GET", base.Path, 418},
		{"GET", "/elsewhere", 418},
		{"POST", base.Path + "b", 405},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(test.method, test.path, nil))
		if w.Code != test.status {
			t.Errorf("%s %s: status %d, expected %d", test.method, test.path, w.Code, test.status)
		}
	}
}
