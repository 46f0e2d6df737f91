package providertest

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
)

// full is a provider with every upgrade.
type full struct{ *memory.Set }

func (f full) Open(_ context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	if _, found := f.Get(r.Key); !found {
		return nil, fs.ErrNotExist
	}
	return reader(r)
}

func (f full) OpenChange(ctx context.Context, c resourcesync.Change) (io.ReadCloser, error) {
	if c.Type == resourcesync.Deleted {
		return nil, fs.ErrNotExist
	}
	for known, err := range f.Changes(ctx, resourcesync.Interval{}) {
		if err != nil {
			return nil, err
		}
		if sameChange(known, c) {
			return reader(c.Resource)
		}
	}
	return nil, fs.ErrNotExist
}

func reader(r resourcesync.Resource) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(content(r))), nil
}

// content returns what r describes: nothing is said of the bytes of a resource
// that states none.
func content(r resourcesync.Resource) []byte {
	if _, known := r.Length.Bytes(); !known {
		return nil
	}
	return Content(r)
}

func newFull(t *testing.T, resources []resourcesync.Resource) (full, *Options) {
	f := full{memory.New(nil)}
	if err := f.Put(resources...); err != nil {
		t.Fatal(err)
	}
	return f, &Options{
		Put: func(_ context.Context, r ...resourcesync.Resource) error { return f.Set.Put(r...) },
		Delete: func(_ context.Context, keys ...string) error {
			f.Set.Delete(keys...)
			return nil
		},
		Want:      resources,
		ExactStat: true,
	}
}

func TestRun(t *testing.T) {
	Run(t, func(t *testing.T, resources []resourcesync.Resource) (resourcesync.Provider, *Options) {
		return newFull(t, resources)
	})
}

func TestTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, opts := newFull(t, awkward())
		if err := Test(t.Context(), f, opts); err != nil {
			t.Error(err)
		}
		left, err := collect(f.Resources(t.Context(), resourcesync.Range{}), resourcesync.Resource.Clone)
		if err != nil {
			t.Fatal(err)
		}
		want := awkward()
		slices.SortFunc(want, func(a, b resourcesync.Resource) int { return bytes.Compare([]byte(a.Key), []byte(b.Key)) })
		if err := sameResources(left, want); err != nil {
			t.Errorf("Test left other resources than it found: %v", err)
		}
	})
}
