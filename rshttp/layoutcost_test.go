package rshttp

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
)

// A fresh provider yields resources whose strings nobody else refers to.
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

// TestD16_LayoutCost holds the memory that layouts are said to take to what they do.
func TestD16_LayoutCost(t *testing.T) {
	for _, f := range []fresh{
		{n: 1000},
		{n: 20_000},
		{n: 20_000, hashes: true},
		{n: 20_000, hashes: true, summed: true},
		{n: 5000, hashes: true, uriTail: strings.Repeat("/long", 100)},
	} {
		src, err := New("https://example.org/", []Set{{Provider: f}}, &Options{PackageSize: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		t0, ok := src.routes.match("/resourcedump/~.zip", src.sets)
		if !ok {
			t.Fatal("no package")
		}
		heap := func() int64 {
			runtime.GC()
			runtime.GC() // what pools hold goes with the second
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		t0.set.packages.Await(t.Context(), time.Second)
		before := heap()
		l, err := src.layout(t.Context(), t0, false)
		if err != nil {
			t.Fatal(err)
		}
		took := heap() - before
		cost := l.cost()
		t.Logf("%+v: %d bytes of %d: %d a resource", f, took, cost, took/int64(f.n))
		if cost < took*9/10 || cost > took*3/2 {
			t.Errorf("%+v: a layout takes %d bytes and is said to take %d", f, took, cost)
		}
		if l.room.bytes != cost || src.layouts.size() != cost {
			t.Errorf("%d bytes are reserved for %d", l.room.bytes, cost)
		}
		src.layouts.release(l)
		src.layouts.drop(l)
		if n := src.layouts.size(); n != 0 {
			t.Errorf("%d bytes stay reserved", n)
		}
		runtime.KeepAlive(src)
	}
}
