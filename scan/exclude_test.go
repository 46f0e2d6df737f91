package scan_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/scan"
)

// An excluder leaves out the resources whose keys end in a suffix.
type excluder struct{ named }

func (e excluder) Excludes(key string) bool {
	return e.id.Excluded != "" && strings.HasSuffix(key, e.id.Excluded)
}

// keys returns the keys of the set.
func (r *run) keys(t *testing.T) string {
	t.Helper()
	var all []string
	for resource, err := range r.into.Resources(t.Context(), resourcesync.Range{}) {
		must(t, err)
		all = append(all, resource.Key)
	}
	return strings.Join(all, " ")
}

// TestExcluded: a new rule deletes the resources that it excludes, however many, and the guard holds
// what is missing otherwise.
func TestExcluded(t *testing.T) {
	f := &folder{}
	f.set(nil, "a.txt", "b.txt", "c.txt", "d.txt")
	by := func(rule string) excluder {
		return excluder{named{f, scan.Identity{Name: "/srv", URIs: "http://example.org/", Excluded: rule}}}
	}
	r := newRun(t, "a.txt", "b.txt", "c.txt", "d.txt", "e.tmp", "f.tmp", "g.tmp", "h.tmp")
	update := func(rule string) resourcesync.ScanResult {
		t.Helper()
		r.join(t, by(rule))
		result, err := r.Update(t.Context())
		must(t, err)
		return result
	}
	want := func(keys, rule string) {
		t.Helper()
		if got := r.keys(t); got != keys {
			t.Errorf("the set has %s, want %s", got, keys)
		}
		if id, err := scan.Recorded(t.Context(), r.into); err != nil || id.Excluded != rule || id.URIs != "http://example.org/" {
			t.Errorf("recorded %+v, %v", id, err)
		}
	}
	const all = "a.txt b.txt c.txt d.txt e.tmp f.tmp g.tmp h.tmp"
	if result := update(""); result.Held != 4 {
		t.Errorf("without a rule: %+v", result)
	}
	want(all, "")
	if result := update(".tmp"); result.Deleted != 4 || result.Held != 0 {
		t.Errorf("with a rule: %+v", result)
	}
	want("a.txt b.txt c.txt d.txt", ".tmp")

	// A file that is missing is not excluded because a rule has changed.
	f.set(nil)
	if result := update("d.txt"); result.Deleted != 1 || result.Held != 3 {
		t.Errorf("with a rule and missing files: %+v", result)
	}
	want("a.txt b.txt c.txt", "d.txt")

	f.set(nil, "a.txt", "b.txt", "c.txt", "d.txt")
	if result := update(""); result.Created != 1 || result.Deleted != 0 {
		t.Errorf("without the rule: %+v", result)
	}
	want("a.txt b.txt c.txt d.txt", "")
}

// TestExcludedMany: one reading finds many excluded resources, and deletions come in batches. If one
// fails, the rule is not recorded, and the next scan deletes the rest.
func TestExcludedMany(t *testing.T) {
	f := &folder{}
	f.set(nil, "a.txt", "z.txt")
	store := faulty{fails: true}
	set, err := store.Set(t.Context(), "files", nil)
	must(t, err)
	must(t, set.Put(t.Context(), files("a.txt", "z.txt")...))
	for i := range 2500 {
		must(t, set.Put(t.Context(), file(fmt.Sprintf("%04d.tmp", i))))
	}
	count := func() int64 {
		st, err := set.Stat(t.Context(), resourcesync.Range{})
		must(t, err)
		return st.Count
	}
	filled, err := scan.Into(t.Context(), &store, "files", excluder{named{f, scan.Identity{Name: "/srv", Excluded: ".tmp"}}}, nil)
	must(t, err)
	store.read = 0
	if _, err := filled.Update(t.Context()); !errors.Is(err, errFull) || count() != 1502 {
		t.Errorf("%v, and %d resources are left", err, count())
	}
	if id, err := scan.Recorded(t.Context(), set); err != nil || id.Excluded != "" {
		t.Errorf("recorded %+v, %v", id, err)
	}
	if store.read != 1 || store.largest != 1000 {
		t.Errorf("the set was read %d times, and %d resources were deleted at once", store.read, store.largest)
	}
	store.fails, store.read = false, 0
	if result, err := filled.Update(t.Context()); err != nil || result.Deleted != 1500 || count() != 2 {
		t.Errorf("%+v, %v, and %d resources are left", result, err, count())
	}
	if store.read != 1 {
		t.Errorf("the set was read %d times", store.read)
	}
}

var errFull = errors.New("the disk is full")

// A faulty store fails after one batch of deletions.
type faulty struct {
	memory.Store
	fails   bool
	deleted int
	largest int // deletion
	read    int // ranges
}

type faultySet struct {
	*memory.Set
	store *faulty
}

func (s *faulty) Set(ctx context.Context, name string, o *scan.SetOptions) (faultySet, error) {
	set, err := s.Store.Set(ctx, name, o)
	return faultySet{set, s}, err
}

func (s faultySet) Delete(ctx context.Context, keys ...string) error {
	s.store.largest = max(s.store.largest, len(keys))
	if s.store.deleted += len(keys); s.store.fails && s.store.deleted > len(keys) {
		return errFull
	}
	return s.Set.Delete(ctx, keys...)
}

func (s faultySet) Resources(ctx context.Context, r resourcesync.Range) listing {
	s.store.read++
	return s.Set.Resources(ctx, r)
}
