package rshttp_test

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// TestResumeChanged: when a resource has changed, the rest of the old package is no
// longer available.
func TestResumeChanged(t *testing.T) {
	s := shelfOf(t, 10, 1000)
	src := newSource(t, nil, rshttp.Set{Provider: s})
	etag := get(t, src, wholePath).Header.Get("ETag")
	s.put("000004.txt", noise(99, 1000))
	res := get(t, src, wholePath, "Range", "bytes=5000-", "If-Range", etag)
	if res.StatusCode != 200 || res.Header.Get("ETag") == etag || !strings.HasPrefix(text(t, res), "PK") {
		t.Errorf("%s, ETag %s after %s", res.Status, res.Header.Get("ETag"), etag)
	}
}

// TestUnlike: if content that must be read for its checksum differs from the listing,
// the transfer is aborted, and later requests are refused beforehand. Once the content
// is corrected, the package is a different one, regardless of the listing.
func TestUnlike(t *testing.T) {
	right := noise(3, 1000)
	for name, content := range map[string][]byte{
		"replaced":  noise(77, 1000),
		"truncated": right[:999],
		"grown":     append(right[:1000:1000], 'x'),
		"deleted":   nil,
	} {
		var log bytes.Buffer
		s := shelfOf(t, 5, 1000)
		src := newSource(t, &rshttp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, rshttp.Set{Provider: s})
		etag := do(t, src, http.MethodHead, wholePath).Header.Get("ETag")
		s.swap("000003.txt", content)
		if !isBrokenOff(t, src, wholePath) {
			t.Errorf("%s: sent", name)
		}
		res := get(t, src, wholePath)
		if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || res.Header.Get("Content-Type") == "application/zip" {
			t.Errorf("%s: %s, %v", name, res.Status, res.Header)
		}
		if !strings.Contains(log.String(), "https://example.org/000003.txt") {
			t.Errorf("%s: the log does not say which resource it was: %s", name, log.String())
		}
		if c := src.Counters(); c.Read > 4+3 {
			t.Errorf("%s: %d resources were read in three attempts", name, c.Read)
		}
		s.swap("000003.txt", right)
		if res := get(t, src, wholePath); res.StatusCode != 200 || res.Header.Get("ETag") == etag {
			t.Errorf("%s, after the correction: %s, ETag %s", name, res.Status, etag)
		}
	}
}

// An unsized provider does not know how long its resources are.
type unsized struct{ *shelf }

func (u unsized) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for res, err := range u.shelf.Resources(ctx, r) {
			res.Length = resourcesync.Length{}
			if !yield(res, err) {
				return
			}
		}
	}
}

// TestChangeWhileLaidOut: when a set changes while its package is laid out, which
// requires reading resources of unknown length, the package has the later state of the
// set.
func TestChangeWhileLaidOut(t *testing.T) {
	s := shelfOf(t, 5, 1000)
	src := newSource(t, nil, rshttp.Set{Provider: unsized{s}})
	var once sync.Once
	s.opening = func(string) { once.Do(func() { s.put("000003.txt", noise(77, 500)) }) }
	if got := unpack(t, src, wholePath); got["https://example.org/000003.txt"] != string(noise(77, 500)) {
		t.Error("the package has the old content")
	}
}

// TestNewStamp: a new Stamp alone is not a change, so a package is not laid out again.
func TestNewStamp(t *testing.T) {
	s := &summed{shelf: newShelf(t)}
	s.put("a", []byte("content"))
	src := newSource(t, nil, rshttp.Set{Provider: stamped{s}})
	r := describe("a", []byte("content"))
	for _, stamp := range []string{"1", "2"} {
		r.Stamp = stamp
		if err := s.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		unpack(t, src, wholePath)
	}
	if n := src.Counters().Planned; n != 1 {
		t.Errorf("laid out %d times", n)
	}
}

// stamped opens a resource only by its current Stamp.
type stamped struct{ *summed }

func (s stamped) stamp(ctx context.Context, key string) string {
	now, err := s.Known(ctx, []string{key})
	if err != nil {
		s.t.Error(err)
		return ""
	}
	return now[0].Stamp
}

func (s stamped) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for res := range s.summed.Resources(ctx, r) {
			if res.Stamp = s.stamp(ctx, res.Key); !yield(res, nil) {
				return
			}
		}
	}
}

func (s stamped) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	if s.stamp(ctx, r.Key) != r.Stamp {
		return nil, fs.ErrNotExist
	}
	return s.summed.Open(ctx, r)
}
