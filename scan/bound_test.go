package scan_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A bindable origin lists resources, hides them on demand, and keeps what it is given.
type bindable struct {
	resources int
	failed    error
	hidden    error
	set       scan.Stored
	results   []scan.Result
}

func (o *bindable) Bind(_ context.Context, set scan.Stored, _ func(context.Context, string) (scan.Stored, error)) error {
	o.set = set
	return nil
}

func (o *bindable) Scanned(r scan.Result) { o.results = append(o.results, r) }
func (o *bindable) Hidden() error         { return o.hidden }

func (o *bindable) Resources(context.Context) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for i := range o.resources {
			if !yield(resourcesync.Resource{Key: fmt.Sprintf("%06d", i), URI: fmt.Sprintf("https://example.org/%d", i)}, nil) {
				return
			}
		}
		if o.failed != nil {
			yield(resourcesync.Resource{}, o.failed)
		}
	}
}

func newBound(t *testing.T, o *bindable) *scan.Set {
	t.Helper()
	store, err := sqlitestore.OpenFile(t.Context(), filepath.Join(t.TempDir(), "state.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	set, err := scan.Into(t.Context(), store, "a", o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestBoundParts: an origin can read the parts of its set, and nobody else while it is hidden.
func TestBoundParts(t *testing.T) {
	o := &bindable{resources: 5000}
	set := newBound(t, o)
	if _, err := set.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	parts, err := o.set.(resourcesync.PartStater).StatParts(t.Context(), resourcesync.Range{})
	if len(parts) < 2 || err != nil {
		t.Errorf("the origin sees %d parts, %v", len(parts), err)
	}
	if same, err := set.StatParts(t.Context(), resourcesync.Range{}); len(same) != len(parts) || err != nil {
		t.Errorf("readers see %d parts of %d, %v", len(same), len(parts), err)
	}
	o.hidden = errors.New("hidden")
	if _, err := set.StatParts(t.Context(), resourcesync.Range{}); !errors.Is(err, resourcesync.ErrNotReady) {
		t.Errorf("readers see parts of a hidden set: %v", err)
	}
}

// TestScanned: an origin learns how its listings have ended.
func TestScanned(t *testing.T) {
	o := &bindable{resources: 3}
	set := newBound(t, o)
	if _, err := set.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.failed = errors.New("interrupted")
	if _, err := set.Update(t.Context()); !errors.Is(err, o.failed) {
		t.Fatal(err)
	}
	if len(o.results) != 2 || o.results[0].Created != 3 || o.results[0].Err != nil || !errors.Is(o.results[1].Err, o.failed) {
		t.Errorf("the origin learns %+v", o.results)
	}
}
