package dir

import (
	"context"
	"errors"
	"io/fs"
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
