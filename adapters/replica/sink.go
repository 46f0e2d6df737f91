package replica

import (
	"context"
	"io"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A Sink stores the copies of a Destination and publishes them. A copy is published when its
// content is on disk, and before the Destination records it. So after a crash, the Destination
// repeats changes that may not be published.
type Sink struct {
	replica *Replica
	name    string
	store   Store
	changed map[string]*resourcesync.Resource // since the last Flush, by path; nil is deleted
}

// Put implements [destination.Sink].
func (s *Sink) Put(ctx context.Context, c resourcesync.Change, content io.Reader) error {
	if err := s.store.Put(ctx, c, content); err != nil {
		return err
	}
	r := s.published(&c.Resource)
	if rsxml.CheckResource(r) != nil {
		r.Type, r.Encoding, r.Links = "", "", []resourcesync.Link{{Rel: resourcesync.RelVia, Href: c.Resource.URI}}
	}
	if err := rsxml.CheckResource(r); err != nil {
		s.replica.log.WarnContext(ctx, "a copy cannot be published", "original", sparse.Clip(c.Resource.URI), "error", sparse.Clip(err.Error()))
		r = nil
	}
	s.changed[c.Resource.Key] = r
	return nil
}

// published returns the entry of a copy. Other links than via may not be right for a copy, and
// a copy of a copy keeps the link to the original (section 14.8).
func (s *Sink) published(of *resourcesync.Resource) *resourcesync.Resource {
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
	return &resourcesync.Resource{
		Key: key(s.name, of.Key), URI: s.replica.uri(s.name, of.Key),
		LastModified: of.LastModified, Length: of.Length, Type: of.Type, Encoding: of.Encoding, Hashes: of.Hashes,
		Links: []resourcesync.Link{via},
	}
}

// Delete implements [destination.Sink].
func (s *Sink) Delete(ctx context.Context, c resourcesync.Change) error {
	if err := s.store.Delete(ctx, c); err != nil {
		return err
	}
	s.changed[c.Resource.Key] = nil
	return nil
}

// Flush implements [destination.Flusher].
func (s *Sink) Flush(ctx context.Context) error {
	changed := s.changed
	s.changed = make(map[string]*resourcesync.Resource)
	s.replica.begin(s.name, changed)
	if f, ok := s.store.(destination.Flusher); ok {
		if err := f.Flush(ctx); err != nil {
			return err
		}
	}
	var put []resourcesync.Resource
	var deleted []string
	for path, r := range changed {
		if r == nil {
			deleted = append(deleted, key(s.name, path))
		} else {
			put = append(put, *r)
		}
	}
	if len(deleted) > 0 {
		if err := s.replica.set.Delete(ctx, deleted...); err != nil {
			return err
		}
	}
	if len(put) > 0 {
		if err := s.replica.set.Put(ctx, put...); err != nil {
			return err
		}
	}
	s.replica.end(s.name, changed)
	return nil
}

// Open implements [destination.Verifier].
func (s *Sink) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	return s.store.Open(ctx, r)
}
