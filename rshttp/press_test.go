package rshttp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/leaktest"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// listing is a provider with only the mandatory method.
type listing func(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error]

func (l listing) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return l(ctx, r)
}

// at returns a listing of n that calls before ahead of each resource.
func at(n numbers, before func(i int) error) listing {
	return func(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
		return func(yield func(resourcesync.Resource, error) bool) {
			i := 0
			for res, err := range n.Resources(ctx, r) {
				if failed := before(i); failed != nil {
					yield(resourcesync.Resource{}, failed)
					return
				}
				// The head states the time of the newest change, and comes first.
				res.LastModified = newYear.Add(time.Duration(i) * time.Second)
				if i++; !yield(res, err) {
					return
				}
			}
		}
	}
}

// TestLargeDocument: a document that is compressed while it is rendered is a single
// gzip member that inflates to the document that other clients get, and has the same
// bytes regardless of pauses of the provider.
func TestLargeDocument(t *testing.T) {
	const n = 20_000
	const path = "/resourcesync/resourcelist.xml"
	options := &rshttp.Options{Division: rshttp.Division{PageSize: n}}
	quick := newSource(t, options, rshttp.Set{Provider: at(n, func(int) error { return nil })})
	slow := newSource(t, options, rshttp.Set{Provider: at(n, func(i int) error {
		switch i % 1000 {
		case 0:
			time.Sleep(time.Millisecond)
		case 500:
			runtime.Gosched()
		}
		return nil
	})})
	res := get(t, quick, path, "Accept-Encoding", "gzip")
	zipped := []byte(text(t, res))
	plain := text(t, get(t, quick, path))
	r := bytes.NewReader(zipped)
	zr, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	zr.Multistream(false)
	inflated, err := io.ReadAll(zr)
	if err != nil || r.Len() > 0 {
		t.Fatalf("%d bytes after the first member, %v", r.Len(), err)
	}
	if string(inflated) != plain {
		t.Error("gzip and identity differ")
	}
	head, entries, err := rsxml.Decode(bytes.NewReader(inflated))
	if err != nil || len(entries) != n {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	if want := newYear.Add((n - 1) * time.Second); !head.Metadata.At.Equal(want) {
		t.Errorf("at %v, want %v", head.Metadata.At, want)
	}
	for range 3 {
		again := get(t, slow, path, "Accept-Encoding", "gzip")
		if again.Header.Get("ETag") != res.Header.Get("ETag") || text(t, again) != string(zipped) {
			t.Error("a slow provider makes another document")
		}
	}
}

// TestLargeFailures: if a provider fails after much of a document has been compressed,
// the response is 503, and no memory is leaked.
func TestLargeFailures(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("gone") },
		"panic": func() error { panic("gone") },
	} {
		t.Run(name, func(t *testing.T) {
			n := needs.Size(5000, 20_000)
			broken := false
			src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: n}}, rshttp.Set{Provider: at(numbers(n), func(i int) error {
				if broken && i == n*3/4 {
					return fail()
				}
				return nil
			})})
			const path = "/resourcesync/resourcelist.xml"
			whole := text(t, get(t, src, path, "Accept-Encoding", "gzip"))
			broken = true
			left := leaktest.Run(t.Context(), func(context.Context) {
				for range 10 {
					if res := get(t, src, path); res.StatusCode != http.StatusServiceUnavailable {
						t.Error(res.Status)
					}
				}
			}).Wait(0, needs.Patience)
			if left > 0 {
				t.Errorf("%d goroutines are left", left)
			}
			broken = false
			if again := text(t, get(t, src, path, "Accept-Encoding", "gzip")); again != whole {
				t.Error("afterwards the document is another")
			}
		})
	}
}

// TestAllocations: writing a resource that a provider yields allocates nothing.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector empties pools at random")
	}
	resources := make([]resourcesync.Resource, 11_000)
	for i := range resources {
		resources[i] = numbers(0).at(i)
	}
	allocations := func(n int) float64 {
		src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: len(resources)}}, rshttp.Set{Provider: listing(
			func(context.Context, resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
				return func(yield func(resourcesync.Resource, error) bool) {
					for _, r := range resources[:n] {
						if !yield(r, nil) {
							return
						}
					}
				}
			})})
		return testing.AllocsPerRun(5, func() {
			if res := get(t, src, "/resourcesync/resourcelist.xml", "Accept-Encoding", "gzip"); res.StatusCode != 200 {
				t.Error(res.Status)
			}
		})
	}
	if few, many := allocations(1000), allocations(11_000); many-few > 1000 {
		t.Errorf("%v allocations for 10,000 resources more", many-few)
	}
}
