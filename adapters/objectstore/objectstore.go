// Package objectstore keeps the documents that package static writes in a bucket: in Amazon S3
// and stores with its API, or in Azure Blob Storage. The store, or a content delivery network
// in front of it, answers all readers.
//
//	store, err := objectstore.New(client, &objectstore.Options{Prefix: "site/"})
//	...
//	report, err := static.WriteTo(ctx, store, src, nil)
//
// Each object has the headers Content-Type and Cache-Control, and Content-Encoding if it is
// compressed. An object whose content and headers are the same is not stored again. The digest
// that shows this is metadata of the object. It also marks the objects of a Store: a Store
// deletes no object without it.
//
// # Several writers
//
// Each write is on the condition that the object still has the entity tag that the Store has seen,
// or still does not exist. In addition, a Store writes only while it has a lease: an object that it
// renews every third of [Options].Lease. Another Store takes a lease over once the object has not
// changed for that time. The clocks of the machines do not matter. A Store that loses its lease, or
// a condition, stops with an error.
//
// Some stores ignore conditions, which [Store.Lock] detects and logs. There, a Store checks an
// object just before it writes, and has the lock [Options].TryLock in addition to the lease. This
// keeps apart the processes that share the lock. The caller must prevent other writers.
package objectstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/static"
)

// Options are the optional arguments of [New].
type Options struct {
	// Prefix comes before the name of a file in the key of its object. If it is not empty, it ends
	// in a slash.
	Prefix string

	// Lease is the time after which a lease that is not renewed is void: 100 milliseconds or more.
	// After a process was killed, the next one waits for as long. All processes that write to the
	// same place must have the same value, because a Store considers another's lease void after
	// its own time. If zero, 30 seconds is used.
	Lease time.Duration

	// TryLock is the lock of a bucket that ignores the conditions of writes. If nil, such a bucket
	// has only a lease, which two processes that begin at the same moment can both get.
	TryLock TryLock

	// Logger receives warnings. If nil, slog.Default() is used.
	Logger *slog.Logger
}

// A Store is a [static.Store] in a bucket. Between Lock and Unlock, its methods are safe for concurrent use.
type Store struct {
	client  Client
	options Options

	conditional bool       // the store obeys conditions
	lacks       bool       // it did not when the lease was last taken
	waits       bool       // for the lease of another process, which was logged
	held        *stateLock // Options.TryLock, or nil
	lease       *lease

	mu      sync.Mutex
	folders map[string]*folder
}

var _ static.Store = (*Store)(nil)

// minLease is the shortest time of a lease. A shorter one ends between two renewals.
const minLease = 100 * time.Millisecond

// maxRead is the size of the largest object that is read as a whole.
const maxRead = 1 << 30

// New returns a Store. It requests nothing. opts may be nil.
func New(client Client, opts *Options) (*Store, error) {
	s := &Store{client: client}
	if opts != nil {
		s.options = *opts
	}
	if p := s.options.Prefix; p != "" && !strings.HasSuffix(p, "/") {
		return nil, fmt.Errorf("objectstore: the prefix %q does not end in a slash", p)
	}
	s.options.Lease = cmp.Or(s.options.Lease, 30*time.Second)
	if s.options.Lease < minLease {
		return nil, fmt.Errorf("objectstore: the lease of %v is shorter than %v", s.options.Lease, minLease)
	}
	s.options.Logger = cmp.Or(s.options.Logger, slog.Default())
	return s, nil
}

func (s *Store) key(name string) string { return s.options.Prefix + name }

// HasHeaders implements [static.Store].
func (s *Store) HasHeaders() bool { return true }

// ErrForeign means that another program has stored an object with the name of a document.
var ErrForeign = errors.New("another program has stored it; move it away, or give another prefix")

func stampOf(o Object) static.Stamp { return static.Stamp{Size: o.Size, ETag: o.ETag} }

// Read implements [static.Store].
func (s *Store) Read(ctx context.Context, name string) ([]byte, static.Stamp, error) {
	body, o, err := s.client.Get(ctx, s.key(name))
	if err != nil {
		return nil, static.Stamp{}, wrap(name, err)
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxRead))
	if err == nil && int64(len(text)) != o.Size {
		err = io.ErrUnexpectedEOF
	}
	return text, stampOf(o), wrap(name, err)
}

// Compare implements [static.Store]: by the digest in the metadata of the object. It fails if
// another program has stored the object.
func (s *Store) Compare(ctx context.Context, name string, c static.Content) (static.Stamp, bool, error) {
	o, err := s.client.Head(ctx, s.key(name))
	if err == nil && !isOurs(o) {
		err = ErrForeign
	}
	if err != nil {
		return stampOf(o), false, wrap(name, err)
	}
	s.note(name, stampOf(o))
	digest, err := digestOf(c, io.Discard)
	return stampOf(o), digest == o.Digest, wrap(name, err)
}

// Write implements [static.Store].
func (s *Store) Write(ctx context.Context, name string, c static.Content, was static.Stamp) (static.Stamp, error) {
	body, err := spool(c, s.client.MaxSize())
	if err != nil {
		return static.Stamp{}, wrap(name, err)
	}
	defer body.close()
	if err := s.check(); err != nil {
		return static.Stamp{}, err
	}
	ctx, end := s.held.during(ctx)
	defer end()
	condition := Condition{IfMatch: was.ETag, IfNone: was == static.Stamp{}}
	etag, err := s.put(ctx, name, body, Header{c.Type, c.Encoding, c.CacheControl, body.digest}, condition)
	if err != nil {
		return static.Stamp{}, cmp.Or(s.held.check(), err)
	}
	now := static.Stamp{Size: body.size, ETag: etag}
	s.note(name, now)
	return now, nil
}

// put stores an object on a condition.
func (s *Store) put(ctx context.Context, name string, body *spooled, h Header, c Condition) (etag string, err error) {
	isStored := func(o Object) bool { return o.Digest == h.Digest && o.Size == body.size }
	if !s.conditional {
		o, err := s.client.Head(ctx, s.key(name))
		gone := errors.Is(err, fs.ErrNotExist)
		switch {
		case err != nil && !gone:
			return "", wrap(name, err)
		case !gone && isStored(o):
			return o.ETag, nil
		case c.IfNone && !gone || c.IfMatch != "" && c.IfMatch != o.ETag:
			return "", wrap(name, ErrCondition)
		}
		c = Condition{}
	}
	etag, err = s.client.Put(ctx, s.key(name), body, body.size, h, c)
	if err == nil || errors.Is(err, errors.ErrUnsupported) {
		return etag, wrap(name, err)
	}
	// If the response to a successful request is lost, a client that repeats it loses the condition.
	o, failed := s.client.Head(ctx, s.key(name))
	switch {
	case failed == nil && isStored(o):
		return o.ETag, nil
	case failed != nil && !errors.Is(failed, fs.ErrNotExist): // the condition may have been met
		err = fmt.Errorf("%w, after: %v", failed, err)
	}
	return "", wrap(name, err)
}

// Remove implements [static.Store]. It leaves objects that other programs have stored.
func (s *Store) Remove(ctx context.Context, name string) (removed bool, err error) {
	if err := s.check(); err != nil {
		return false, err
	}
	ctx, end := s.held.during(ctx)
	defer end()
	o, err := s.client.Head(ctx, s.key(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err == nil && !isOurs(o):
		s.options.Logger.Warn("object not removed: another program has stored it", "key", s.key(name))
		return false, nil
	case err == nil:
		err = s.client.Delete(ctx, s.key(name), o.ETag)
	}
	if err != nil {
		return false, cmp.Or(s.held.check(), wrap(name, err))
	}
	s.forget(name)
	return true, nil
}

// Files implements [static.Store].
func (s *Store) Files(ctx context.Context, dir string) iter.Seq2[string, error] {
	prefix := s.key(dir + "/")
	if dir == "." {
		prefix = s.options.Prefix
	}
	return func(yield func(string, error) bool) {
		for o, err := range s.client.List(ctx, prefix) {
			if !yield(path.Base(o.Key), wrap(dir, err)) {
				return
			}
		}
	}
}

// wrap adds the name of the object to an error.
func wrap(name string, err error) error {
	if err != nil {
		err = fmt.Errorf("object %q: %w", name, err)
	}
	return err
}
