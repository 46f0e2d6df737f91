package dir

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

func TestOpenRefuses(t *testing.T) {
	here := t.TempDir()
	write(t, here, "file", "")
	tests := map[string]struct {
		path, base string
		options    *Options
	}{
		"no folder":         {path: filepath.Join(here, "none"), base: base},
		"a file":            {path: filepath.Join(here, "file"), base: base},
		"relative base":     {path: here, base: "/files/"},
		"no host":           {path: here, base: "https:///files/"},
		"other scheme":      {path: here, base: "ftp://example.org/"},
		"query":             {path: here, base: "https://example.org/?"},
		"fragment":          {path: here, base: "https://example.org/#a"},
		"user":              {path: here, base: "https://me@example.org/"},
		"encoded slash":     {path: here, base: "https://example.org/a%2Fb/"},
		"no URL":            {path: here, base: "https://example.org/%zz/"},
		"unknown algorithm": {path: here, base: base, options: &Options{Hashes: []string{"crc32"}}},
		"algorithm twice":   {path: here, base: base, options: &Options{Hashes: []string{"md5", "md5"}}},
		"concurrency":       {path: here, base: base, options: &Options{Concurrency: -1}},
		"debounce":          {path: here, base: base, options: &Options{Debounce: -1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if d, err := Open(test.path, test.base, test.options); err == nil {
				d.Close()
				t.Error("opened")
			}
		})
	}
}

func TestOpenTellsWhy(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none"), base, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error of a folder that is not there is %v", err)
	}
}

func TestBaseURL(t *testing.T) {
	for given, want := range map[string]string{
		"https://example.org":       "https://example.org/a%20b",
		"https://example.org/files": "https://example.org/files/a%20b",
		"http://example.org:8080/":  "http://example.org:8080/a%20b",
		"https://example.org/é/":    "https://example.org/%C3%A9/a%20b",
		"https://example.org/x%3F/": "https://example.org/x%3F/a%20b",
	} {
		d, err := Open(t.TempDir(), given, nil)
		must(t, err)
		defer d.Close()
		if got, _ := d.uri("a b"); got != want {
			t.Errorf("below %s: %s, want %s", given, got, want)
		}
	}
}

func TestClosed(t *testing.T) {
	here := t.TempDir()
	write(t, here, "a", "")
	d := openDir(t, here, nil)
	must(t, d.Close())
	if found, err := list(t, d); err == nil || len(found) > 0 {
		t.Errorf("a scan of a closed Dir: %v, %v", found, err)
	}
	must(t, d.Close())
	if _, err := d.Open(t.Context(), resourcesync.Resource{Key: "a"}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a file of a closed Dir: %v", err)
	}
	if d.Lists("a") {
		t.Error("a closed Dir lists a file")
	}
}
