package packages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A fresh provider yields resources whose strings are not used elsewhere.
type fresh struct {
	n       int
	hashes  bool
	summed  bool
	uriTail string
}

func (f fresh) Resources(_ context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for i := range f.n {
			key := fmt.Sprintf("%08d%s.html", i, f.uriTail)
			res := resourcesync.Resource{Key: key, URI: "https://example.org/a/folder/" + key, Length: resourcesync.Bytes(10_000)}
			if f.hashes {
				res.Hashes = []resourcesync.Hash{{Algorithm: "sha-256", Digest: fmt.Sprintf("%064x", i)}}
				res.Stamp = fmt.Sprintf("%032x", i)
			}
			if r.Contains(key) && !yield(res, nil) {
				return
			}
		}
	}
}

func (fresh) Open(context.Context, resourcesync.Resource) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("")), nil
}

func (f fresh) Checksum(context.Context, resourcesync.Resource) (uint32, error) {
	if !f.summed {
		return 0, errors.ErrUnsupported
	}
	return 1, nil
}

// packageOf describes the package of all resources of f.
func packageOf(f fresh) *Package[int] {
	return &Package[int]{
		Path:     "/all.zip",
		Fresh:    func(context.Context, int) (bool, error) { return false, nil },
		Unlisted: func() bool { return false },
		Content:  Content{Provider: f, Opener: f, Checksummer: f},
		List: func(ctx context.Context) (*Contents, int, error) {
			c := NewContents(false)
			b := render.Body{Head: &rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ResourceDumpManifest}}}
			defer b.Free()
			var builder entries.Builder
			for r, err := range f.Resources(ctx, resourcesync.Range{}) {
				if err != nil {
					return nil, 0, err
				}
				path, err := c.AddResource(r)
				if err != nil {
					return nil, 0, err
				}
				e := builder.Resource(&r)
				e.Metadata.Path = path
				b.Add(e)
			}
			var err error
			c.Text, err = b.Text()
			return c, 1, err
		},
	}
}

// TestD16_Memory compares the memory that plans claim with the memory that they take.
func TestD16_Memory(t *testing.T) {
	needs.Time(t)
	for _, f := range []fresh{
		{n: 1000},
		{n: 20_000},
		{n: 20_000, hashes: true},
		{n: 20_000, hashes: true, summed: true},
		{n: 5000, hashes: true, uriTail: strings.Repeat("/long", 100)},
	} {
		var counters Counters
		pl := NewPlanner[int](Options{Size: 1 << 30, Concurrency: 1, ReadTimeout: time.Minute}, &counters)
		heap := func() int64 {
			runtime.GC()
			runtime.GC() // the second empties pools
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		pkg := packageOf(f)
		before := heap()
		p, err := pl.Plan(t.Context(), pkg)
		if err != nil {
			t.Fatal(err)
		}
		took := heap() - before
		memory := p.memory()
		t.Logf("%+v: %d bytes of %d: %d a resource", f, took, memory, took/int64(f.n))
		if memory < took*9/10 || memory > took*3/2 {
			t.Errorf("%+v: a plan takes %d bytes and claims %d", f, took, memory)
		}
		if p.room.bytes != memory || pl.Memory() != memory {
			t.Errorf("%d bytes are reserved for %d", p.room.bytes, memory)
		}
		pl.Release(p)
		pl.store.drop(p)
		if n := pl.Memory(); n != 0 {
			t.Errorf("%d bytes stay reserved", n)
		}
		if n := counters.Planned.Load(); n != 1 {
			t.Errorf("%d plans made", n)
		}
		runtime.KeepAlive(pl)
	}
}
