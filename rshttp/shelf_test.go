package rshttp_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
)

// A shelf is a set in memory with the current bytes of its resources.
type shelf struct {
	*memory.Set
	t testing.TB

	mu      sync.Mutex
	content map[string][]byte
	past    map[resourcesync.Hash][]byte
	opening func(key string) // called, if not nil, before a resource is opened

	open, opened atomic.Int64 // contents open now, and ever
}

// newShelf returns a shelf whose changes come a second apart, from newYear on.
func newShelf(t testing.TB) *shelf {
	now := newYear
	return &shelf{
		Set: memory.New(&memory.Options{Now: func() time.Time {
			now = now.Add(time.Second)
			return now
		}}),
		t:       t,
		content: map[string][]byte{},
		past:    map[resourcesync.Hash][]byte{},
	}
}

// shelfOf returns a shelf with n resources of size bytes each.
func shelfOf(t testing.TB, n, size int) *shelf {
	s := newShelf(t)
	for i := range n {
		s.put(fmt.Sprintf("%06d.txt", i), noise(uint32(i), size))
	}
	return s
}

// noise returns n bytes that depend on a seed.
func noise(seed uint32, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		seed = seed*1664525 + 1013904223
		b[i] = byte(seed >> 24)
	}
	return b
}

// describe returns the resource that has this content.
func describe(key string, content []byte) resourcesync.Resource {
	sum := sha256.Sum256(content)
	r := resource(key)
	r.LastModified = newYear
	r.Length = resourcesync.Bytes(int64(len(content)))
	r.Type = "text/plain"
	r.Hashes = []resourcesync.Hash{{Algorithm: "sha-256", Digest: hex.EncodeToString(sum[:])}}
	return r
}

// put makes content the content of a resource, and tells the set.
func (s *shelf) put(key string, content []byte) {
	s.swap(key, content)
	s.keep(describe(key, content).Hashes[0], content)
	if err := s.Put(s.t.Context(), describe(key, content)); err != nil {
		s.t.Fatal(err)
	}
}

// swap replaces the content of a resource without telling the set.
func (s *shelf) swap(key string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.content[key] = content
}

// keep keeps a past version; none if content is nil.
func (s *shelf) keep(h resourcesync.Hash, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past[h] = content
}

func (s *shelf) Open(_ context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	s.mu.Lock()
	opening := s.opening
	s.mu.Unlock()
	if opening != nil {
		opening(r.Key)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	content, ok := s.content[r.Key]
	if !ok || content == nil {
		return nil, &fs.PathError{Op: "open", Path: r.Key, Err: fs.ErrNotExist}
	}
	s.open.Add(1)
	s.opened.Add(1)
	return &book{bytes.NewReader(content), s}, nil
}

// A book is open content. It cannot seek.
type book struct {
	io.Reader
	shelf *shelf
}

func (b *book) Close() error {
	b.shelf.open.Add(-1)
	return nil
}

// A history is a shelf that has the bytes of past versions, too.
type history struct{ *shelf }

func (h history) OpenChange(_ context.Context, c resourcesync.Change) (io.ReadCloser, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.Type == resourcesync.Deleted || h.past[c.Resource.Hashes[0]] == nil {
		return nil, &fs.PathError{Op: "open", Path: c.Resource.Key, Err: fs.ErrNotExist}
	}
	h.open.Add(1)
	return &book{bytes.NewReader(h.past[c.Resource.Hashes[0]]), h.shelf}, nil
}

// A summed shelf knows the checksums of the resources put into it, as a scanner would.
type summed struct {
	*shelf
	sums sync.Map // of digests
}

func (s *summed) put(key string, content []byte) {
	s.sums.Store(describe(key, content).Hashes[0], crc32.ChecksumIEEE(content))
	s.shelf.put(key, content)
}

func (s *summed) Checksum(_ context.Context, r resourcesync.Resource) (uint32, error) {
	if sum, ok := s.sums.Load(r.Hashes[0]); ok {
		return sum.(uint32), nil
	}
	return 0, errors.ErrUnsupported
}

// A bare provider can only list and open.
type bare struct{ s *shelf }

func (b bare) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return b.s.Resources(ctx, r)
}

func (b bare) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	return b.s.Open(ctx, r)
}
