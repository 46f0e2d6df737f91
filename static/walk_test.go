package static

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
)

// TestOrder holds that documents come after those that they list.
func TestOrder(t *testing.T) {
	t.Parallel()
	papers := memory.New(nil)
	for _, key := range []string{"1", "2", "3"} {
		must(t, papers.Put(t.Context(), resourcesync.Resource{Key: key, URI: origin + "/" + key}))
	}
	sets := []Set{{Name: "papers", Provider: papers}, {Name: "maps", Provider: memory.New(nil)}}
	src, err := New(origin+"/a/rs/", sets, &SourceOptions{Division: Division{PageSize: 1}})
	must(t, err)
	report, err := Write(t.Context(), t.TempDir(), src, nil)
	must(t, err)
	var paths []string
	for _, path := range report.Written {
		if i := strings.Index(path, "list/"); i >= 0 {
			path = path[:i+len("list/")] + "*"
		}
		if n := len(paths); n == 0 || paths[n-1] != path {
			paths = append(paths, path)
		}
	}
	want := "a/rs/papers/resourcelist/* a/rs/papers/resourcelist.xml a/rs/papers/changelist/* a/rs/papers/changelist.xml " +
		"a/rs/maps/resourcelist.xml a/rs/maps/changelist.xml a/rs/papers/capabilitylist.xml a/rs/maps/capabilitylist.xml .well-known/resourcesync"
	if got := strings.Join(paths, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

type unreadySet struct{ *memory.Set }

func (unreadySet) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return resourcesync.Stat{}, resourcesync.ErrNotReady
}

// TestErrors: arguments that are invalid, and a set that is not ready, of which nothing is
// written.
func TestErrors(t *testing.T) {
	t.Parallel()
	papers := memory.New(nil)
	for want, test := range map[string]struct {
		base string
		set  Set
		o    *SourceOptions
	}{
		"base URL":     {"example.org", Set{Provider: papers}, nil},
		"{ or }":       {origin + "/{rs}/", Set{Provider: papers}, nil},
		"no Provider":  {origin + "/", Set{}, nil},
		"PageSize -1":  {origin + "/", Set{Provider: papers}, &SourceOptions{Division: Division{PageSize: -1}}},
		"cannot offer": {origin + "/", Set{Provider: papers, Require: []resourcesync.Capability{resourcesync.ResourceDump}}, nil},
	} {
		if _, err := New(test.base, []Set{test.set}, test.o); err == nil || !strings.HasPrefix(err.Error(), "static: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
	src, err := New(origin+"/", []Set{{Provider: &unreadySet{papers}}}, &SourceOptions{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	out := t.TempDir()
	if _, err := Write(t.Context(), out, src, nil); !errors.Is(err, resourcesync.ErrNotReady) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(out, "capabilitylist.xml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a document of a set that is not ready: %v", err)
	}
}
