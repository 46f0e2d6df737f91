package static

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
)

// plainProvider is a provider that knows nothing about its state.
type plainProvider struct{ n int }

func (p *plainProvider) Resources(_ context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for i := range p.n {
			key := fmt.Sprintf("%04d", i)
			if r.Contains(key) && !yield(resourcesync.Resource{Key: key, URI: origin + "/papers/" + key}, nil) {
				return
			}
		}
	}
}

func (*plainProvider) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	return contents{}.Open(ctx, r)
}

// TestPlainProvider holds that files with the same bytes are not touched if a set cannot say
// what has changed.
func TestPlainProvider(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	provider := &plainProvider{n: 55}
	src := func() *Source {
		src, err := New(origin+"/rs/", []Set{{Name: "papers", Provider: provider}}, &s.options)
		must(t, err)
		return src
	}
	write := func() Report {
		report, err := Write(t.Context(), s.out, src(), &Options{DumpEvery: -1})
		must(t, err)
		return report
	}
	first := write()
	s.check(55, 0)
	if again := write(); len(again.Written) > 0 || again.Documents != first.Documents {
		t.Errorf("%+v", again)
	}
	provider.n++
	if report := write(); len(report.Written) == 0 || len(report.Written) == first.Documents {
		t.Errorf("written: %q", report.Written)
	}
}

// TestArchive holds that Change Lists that the journal has dropped stay in the archive, and
// are not written again.
func TestArchive(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open(&sqlstore.Options{Window: time.Millisecond, Retain: 200 * time.Millisecond, Archive: time.Hour}, nil)
	s.put(1, 15, "first")
	time.Sleep(2 * time.Millisecond)
	s.put(1, 15, "second")
	s.write(Options{})
	closed := slices.DeleteFunc(slices.Collect(func(yield func(string) bool) {
		for name := range s.files() {
			if !yield(name) {
				return
			}
		}
	}), func(name string) bool { return !strings.Contains(name, "/changelist/2") })
	time.Sleep(300 * time.Millisecond)
	s.put(3, 3, "third")
	time.Sleep(2 * time.Millisecond)
	s.put(3, 3, "fourth")
	report := s.write(Options{Grace: -1})
	rewritten := 0
	for _, name := range closed {
		if slices.Contains(report.Removed, name) {
			t.Errorf("%s is gone", name)
		}
		if slices.Contains(report.Written, name) {
			rewritten++ // the one that was open
		}
	}
	if len(closed) < 2 || rewritten > 1 {
		t.Errorf("%d of %d lists were written again: %q", rewritten, len(closed), report.Written)
	}
	if !strings.Contains(s.read("rs/papers/changelistarchive.xml"), closed[0]) {
		t.Error("the archive does not list the Change Lists")
	}
	s.check(15, 1) // the list of recent changes stays
}
