package dir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
)

// files yields unchanged files at once, and the others after reading them.
func (s *scan) files(ctx context.Context, in *folder, found []file) error {
	known := make([]resourcesync.Resource, len(found))
	if s.known != nil {
		keys := make([]string, len(found))
		for i, f := range found {
			keys[i] = f.key
		}
		var err error
		if known, err = s.known(ctx, keys); err != nil {
			if ctx.Err() == nil {
				s.failed(keys[0], fmt.Errorf("looking up known resources: %w", err))
			}
			return err
		}
	}
	for i, f := range found {
		if err := s.file(ctx, in, f.key, f.info, known[i]); err != nil {
			return err
		}
	}
	return nil
}

// file yields an unchanged file at once, and any other after reading it.
func (s *scan) file(ctx context.Context, in *folder, key string, info fs.FileInfo, known resourcesync.Resource) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	uri, ok := s.uri(key)
	if !ok {
		s.skip(key, errTooLong)
		return nil
	}
	isKnown := known.Key != ""
	r := newResource(key, uri, info)
	if isKnown && s.isCurrent(known, r) {
		r.Hashes = known.Hashes
		r.Type = cmp.Or(r.Type, known.Type)
		r.Stamp = known.Stamp
		if known.LastModified.IsZero() {
			// The time was in the future when this version was recorded. When that
			// time arrives, the resource does not change.
			r.LastModified = time.Time{}
		}
	}
	if r.Type != "" && len(r.Hashes) == len(s.algorithms) {
		return s.send(ctx, r)
	}
	in.hold()
	s.readers.Go(func() error {
		defer in.release()
		begun := time.Now()
		c, err := s.read(ctx, in.Root, info)
		s.notices.read(key, time.Since(begun))
		switch {
		case ctx.Err() != nil:
			if err == nil {
				c.copied.discard()
			}
			return nil
		case err == nil:
			r := c.resource(key, uri)
			if isKnown && changes.Recorded(&r, 0, time.Now).EqualEntry(known) {
				c.copied.discard() // not a change
			} else if err := c.copied.keep(r.Hashes); err != nil {
				s.failed(key, fmt.Errorf("copying it: %w", err))
				return nil
			}
			return s.send(ctx, r)
		case err == errInFlux && isKnown:
			known.URI = uri
			return s.send(ctx, known)
		case !errors.Is(err, fs.ErrNotExist):
			s.unreadable(ctx, key, only(key), err)
		}
		return nil
	})
	return nil
}

// isCurrent reports whether known describes the same version as r, with all hashes
// that the Dir computes.
func (s *scan) isCurrent(known, r resourcesync.Resource) bool {
	stamp, _, summed := cutSum(known.Stamp)
	return stamp == r.Stamp && summed == (len(s.algorithms) > 0) &&
		slices.EqualFunc(known.Hashes, s.algorithms, func(h resourcesync.Hash, a algorithm) bool {
			return h.Algorithm == a.name
		})
}

// newResource returns the resource of a file, without the fields that require reading
// it.
func newResource(key, uri string, info fs.FileInfo) resourcesync.Resource {
	return resourcesync.Resource{
		Key:          key,
		URI:          uri,
		LastModified: info.ModTime().UTC().Truncate(time.Second),
		Length:       resourcesync.Bytes(info.Size()),
		Type:         typeByName(info.Name()),
		Encoding:     encodingByName(info.Name()),
		Stamp:        stampOf(info),
	}
}

// resource returns the resource of the file that was read.
func (c content) resource(key, uri string) resourcesync.Resource {
	r := newResource(key, uri, c.info)
	r.Hashes = c.hashes
	r.Type = c.mediaType
	if len(c.hashes) > 0 {
		r.Stamp = withSum(r.Stamp, c.crc)
	}
	if !c.settled {
		r.Stamp = unsettledMark + r.Stamp
	}
	return r
}
