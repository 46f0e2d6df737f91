package replica

import (
	"context"
	"errors"
	"io"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A sink stores the copies of a Destination and publishes them. A copy is published when its
// content is on disk, and before the Destination records it. So after a crash, the Destination
// repeats changes that may not be published.
type sink struct {
	aggregator *Aggregator
	prefix     string
	copies     Copies
	changed    map[string]*resourcesync.Resource // since the last Flush, by path; nil is deleted
}

// A flushingSink is the sink of a store that is a Flusher. For any other store, each change is
// published at once.
type flushingSink struct{ sink }

// Put implements [destination.Sink].
func (s *sink) Put(ctx context.Context, c resourcesync.Change, content io.Reader) error {
	if err := s.put(ctx, c, content); err != nil {
		return err
	}
	return s.publish(ctx, nil)
}

// Put implements [destination.Sink].
func (s *flushingSink) Put(ctx context.Context, c resourcesync.Change, content io.Reader) error {
	return s.put(ctx, c, content)
}

// put stores a copy that publish publishes.
func (s *sink) put(ctx context.Context, c resourcesync.Change, content io.Reader) error {
	if err := s.copies.Put(ctx, c, content); err != nil {
		return err
	}
	r, err := s.aggregator.entry(s.prefix, &c.Resource)
	if err != nil {
		s.aggregator.log.WarnContext(ctx, "a copy cannot be published", "original", sparse.Clip(c.Resource.URI), "error", sparse.Clip(err.Error()))
	}
	s.changed[c.Resource.Key] = r
	return nil
}

// entry returns the entry of a copy. Other links than via may not be right for a copy, and a copy
// of a copy keeps the link to the original (section 14.8).
func (a *Aggregator) entry(prefix string, of *resourcesync.Resource) (*resourcesync.Resource, error) {
	via := resourcesync.Link{
		Rel: resourcesync.RelVia, Href: of.URI,
		Hashes: of.Hashes, Length: of.Length, Modified: of.LastModified, Type: of.Type, Encoding: of.Encoding,
	}
	for _, l := range of.Links {
		if l.Rel == resourcesync.RelVia {
			via = l
			break
		}
	}
	e := &resourcesync.Resource{
		Key: key(prefix, of.Key), URI: a.uri(prefix, of.Key),
		LastModified: of.LastModified, Length: of.Length, Type: of.Type, Encoding: of.Encoding, Hashes: of.Hashes,
		Links: []resourcesync.Link{via},
	}
	if a.exclude != nil && a.exclude(a.path+prefix+of.Key) {
		return nil, errors.New("another handler has its URL")
	}
	if rsxml.CheckResource(e) != nil {
		e.Type, e.Encoding, e.Links = "", "", []resourcesync.Link{{Rel: resourcesync.RelVia, Href: of.URI}}
	}
	if err := rsxml.CheckResource(e); err != nil {
		return nil, err
	}
	return e, nil
}

// Delete implements [destination.Sink].
func (s *sink) Delete(ctx context.Context, c resourcesync.Change) error {
	if err := s.delete(ctx, c); err != nil {
		return err
	}
	return s.publish(ctx, nil)
}

// Delete implements [destination.Sink].
func (s *flushingSink) Delete(ctx context.Context, c resourcesync.Change) error {
	return s.delete(ctx, c)
}

func (s *sink) delete(ctx context.Context, c resourcesync.Change) error {
	if err := s.copies.Delete(ctx, c); err != nil {
		return err
	}
	s.changed[c.Resource.Key] = nil
	return nil
}

// Flush implements [destination.Flusher].
func (s *flushingSink) Flush(ctx context.Context) error {
	return s.publish(ctx, s.copies.(destination.Flusher).Flush)
}

// Prepare implements [destination.Preparer].
func (s *sink) Prepare(ctx context.Context, folders destination.FolderLog) error {
	clear(s.changed)
	if p, ok := s.copies.(destination.Preparer); ok {
		return p.Prepare(ctx, folders)
	}
	return nil
}

// publish publishes the changed copies, after flush, unless that is nil. It returns the error of
// flush if that has ForeignErrors only.
func (s *sink) publish(ctx context.Context, flush func(context.Context) error) error {
	changed := s.changed
	s.changed = make(map[string]*resourcesync.Resource)
	s.aggregator.begin(s.prefix, changed)
	var flushed error
	if flush != nil {
		flushed = flush(ctx)
	}
	foreign, ok := destination.ForeignErrors(flushed)
	if !ok {
		return flushed
	}
	var put []resourcesync.Resource
	var deleted []string
	for path, r := range changed {
		switch {
		case foreign[path] != nil: // not stored
		case r == nil:
			deleted = append(deleted, key(s.prefix, path))
		default:
			put = append(put, *r)
		}
	}
	if len(deleted) > 0 {
		if err := s.aggregator.set.Delete(ctx, deleted...); err != nil {
			return err
		}
	}
	if len(put) > 0 {
		if err := s.aggregator.set.Put(ctx, put...); err != nil {
			return err
		}
	}
	s.aggregator.end(s.prefix, changed)
	return flushed
}

// Open implements [destination.Verifier].
func (s *sink) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	return s.copies.Open(ctx, r)
}

// Forget implements [destination.Forgetter].
func (s *sink) Forget(ctx context.Context, keys []string) error {
	if f, ok := s.copies.(destination.Forgetter); ok {
		if err := f.Forget(ctx, keys); err != nil {
			return err
		}
	}
	for _, key := range keys {
		s.changed[key] = nil
	}
	return s.publish(ctx, nil)
}

// Identify implements [destination.Verifier].
func (s *sink) Identify(ctx context.Context, keys []string) ([]string, error) {
	return s.copies.Identify(ctx, keys)
}
