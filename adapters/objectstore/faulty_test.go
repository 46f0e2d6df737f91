package objectstore_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
)

// A faulty client is of a bucket in memory that fails in ways that a real server does not on request.
type faulty struct {
	mu      sync.Mutex
	objects map[string]stored
	count   int

	conditions string // "ignored" or "rejected"; "" if they are obeyed

	hung   bool          // each Delete lasts until its context ends
	delay  time.Duration // of the response to each Put
	failed error         // of each Put, before the object is stored, or nil
	lost   error         // of each Put, after the object has been stored, or nil
	blind  bool          // Head fails after a Put whose response has been lost
	unseen error         // of each Head, or nil
}

type stored struct {
	objectstore.Object
	text []byte
}

const maxSize = 1000

func newFaulty() *faulty { return &faulty{objects: make(map[string]stored)} }

func (m *faulty) MaxSize() int64 { return maxSize }

func (m *faulty) Head(ctx context.Context, key string) (objectstore.Object, error) {
	if err := ctx.Err(); err != nil {
		return objectstore.Object{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unseen != nil {
		return objectstore.Object{}, m.unseen
	}
	o, found := m.objects[key]
	if !found {
		return objectstore.Object{}, fs.ErrNotExist
	}
	return o.Object, nil
}

func (m *faulty) Get(ctx context.Context, key string) (io.ReadCloser, objectstore.Object, error) {
	o, err := m.Head(ctx, key)
	m.mu.Lock()
	defer m.mu.Unlock()
	return io.NopCloser(bytes.NewReader(m.objects[key].text)), o, err
}

func (m *faulty) Put(ctx context.Context, key string, body io.ReadSeeker, _ int64, h objectstore.Header, c objectstore.Condition) (etag string, err error) {
	m.mu.Lock()
	delay := m.delay
	defer func() {
		m.mu.Unlock()
		if delay > 0 {
			select {
			case <-ctx.Done():
				err = ctx.Err()
			case <-time.After(delay):
			}
		}
	}()
	if m.failed != nil {
		return "", m.failed
	}
	is, found := m.objects[key]
	conditional := c != objectstore.Condition{}
	switch {
	case conditional && m.conditions == "rejected":
		return "", errors.ErrUnsupported
	case m.conditions == "" && (c.IfNone && found || c.IfMatch != "" && c.IfMatch != is.ETag):
		return "", objectstore.ErrCondition
	}
	etag, err = m.store(key, body, h.Digest)
	if m.blind {
		m.unseen = errors.New("connection refused")
	}
	return etag, cmp.Or(err, m.lost)
}

// store stores an object. The caller holds the lock.
func (m *faulty) store(key string, body io.Reader, digest string) (string, error) {
	text, err := io.ReadAll(body)
	m.count++
	o := objectstore.Object{Key: key, Size: int64(len(text)), ETag: fmt.Sprint("etag-", m.count), Digest: digest}
	m.objects[key] = stored{o, text}
	return o.ETag, err
}

// replace stores an object as another program does.
func (m *faulty) replace(key, content string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _ = m.store(key, strings.NewReader(content), "")
}

// fail has each Put fail with err, if it is not nil.
func (m *faulty) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed = err
}

// lose has each Put fail with err after the object has been stored, if it is not nil.
func (m *faulty) lose(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost = err
}

// isolate has each Put fail with err after the object has been stored, and each Head after that. If err
// is nil, nothing fails any more.
func (m *faulty) isolate(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost, m.blind, m.unseen = err, err != nil, nil
}

// text returns the content of an object, or "" if there is none.
func (m *faulty) text(key string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return string(m.objects[key].text)
}

func (m *faulty) Delete(ctx context.Context, key, etag string) error {
	if m.hung {
		<-ctx.Done()
		return ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, found := m.objects[key]; found && o.ETag != etag && m.conditions == "" {
		return objectstore.ErrCondition
	}
	delete(m.objects, key)
	return nil
}

func (m *faulty) List(_ context.Context, prefix string) iter.Seq2[objectstore.Object, error] {
	return func(yield func(objectstore.Object, error) bool) {
		m.mu.Lock()
		all := maps.Clone(m.objects)
		m.mu.Unlock()
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if name, ok := strings.CutPrefix(key, prefix); ok && !strings.Contains(name, "/") && !yield(all[key].Object, nil) {
				return
			}
		}
	}
}
