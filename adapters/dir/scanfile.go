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

// maxChunk is the maximum size, in bytes, of several files that one goroutine reads before
// it yields them, and maxChunkFiles their maximum number.
const (
	maxChunk      = 1 << 20
	maxChunkFiles = 64
)

// files passes files on to examine.
func (s *scanRun) files(ctx context.Context, in *folder, found []file) error {
	in.hold()
	select {
	case s.listed <- listed{in, found}:
		return nil
	case <-ctx.Done():
		in.release()
		return ctx.Err()
	}
}

// examine yields unchanged files, and the others after reading them. It stops the walk
// after an error.
func (s *scanRun) examine(ctx context.Context, stop func()) {
	for l := range s.listed {
		if ctx.Err() == nil && s.examineFolder(ctx, l) != nil {
			stop()
		}
		l.in.release()
	}
}

func (s *scanRun) examineFolder(ctx context.Context, l listed) error {
	known := make([]resourcesync.Resource, len(l.files))
	if s.known != nil {
		keys := make([]string, len(l.files))
		for i := range l.files {
			keys[i] = l.files[i].key
		}
		var err error
		if known, err = s.known(ctx, keys); err != nil {
			if ctx.Err() == nil {
				s.failed(keys[0], fmt.Errorf("looking up known resources: %w", err))
			}
			return err
		}
	}
	var unchanged []string
	var current []resourcesync.Resource
	var changed []changedFile
	var size int64
	read := func() {
		if len(changed) > 0 {
			s.readAll(ctx, l.in, changed)
			changed, size = nil, 0
		}
	}
	for i := range l.files {
		f := &l.files[i]
		if s.isUnchanged(f, &known[i]) {
			unchanged = append(unchanged, f.key)
			continue
		}
		uri, ok := s.uri(f.key)
		if !ok {
			s.skip(f.key, errTooLong)
			continue
		}
		r, ok := s.current(f, uri, &known[i])
		if ok {
			current = append(current, r)
			continue
		}
		if size += f.status.size; size > maxChunk || len(changed) == maxChunkFiles {
			read()
			size = f.status.size
		}
		changed = append(changed, changedFile{f, uri, known[i]})
	}
	read()
	if len(current)+len(unchanged) == 0 {
		return ctx.Err()
	}
	return s.report(ctx, findings{resources: current, unchanged: unchanged})
}

// isUnchanged reports whether known is what a scan would yield for a file. It does not
// build the resource.
func (s *scanRun) isUnchanged(f *file, known *resourcesync.Resource) bool {
	length, sized := known.Length.Bytes()
	typ := typeByName(f.name)
	return known.Key != "" && s.isCurrent(known, &f.status) &&
		sized && length == f.status.size && (known.LastModified.IsZero() || known.LastModified.Unix() == f.status.modified.Unix()) &&
		known.Type != "" && (typ == "" || typ == known.Type) && known.Encoding == encodingByName(f.name) &&
		s.isURI(known.URI, f.key)
}

// current returns the resource of a file, and whether it is complete without reading the
// file. known is the resource as recorded.
func (s *scanRun) current(f *file, uri string, known *resourcesync.Resource) (resourcesync.Resource, bool) {
	r := newResource(f.key, uri, f.name, f.status)
	if known.Key != "" && s.isCurrent(known, &f.status) {
		r.Hashes = known.Hashes
		r.Type = cmp.Or(r.Type, known.Type)
		r.Stamp = known.Stamp
		if known.LastModified.IsZero() {
			// The time was in the future when this version was recorded. When that
			// time arrives, the resource does not change.
			r.LastModified = time.Time{}
		}
	}
	return r, r.Type != "" && len(r.Hashes) == len(s.algorithms)
}

// A changedFile is a file that must be read.
type changedFile struct {
	*file
	uri   string
	known resourcesync.Resource // its Key is empty if nothing is known
}

// readAll yields files of the folder in after reading them in another goroutine.
func (s *scanRun) readAll(ctx context.Context, in *folder, files []changedFile) {
	in.hold()
	s.readers.Go(func() error {
		defer in.release()
		found := make([]resourcesync.Resource, 0, len(files))
		for i := range files {
			if ctx.Err() != nil {
				return nil
			}
			if r, ok := s.readFile(ctx, in, &files[i]); ok {
				found = append(found, r)
			}
		}
		s.report(ctx, findings{resources: found})
		return nil
	})
}

// readFile reads a file, and returns its resource if there is one.
func (s *scanRun) readFile(ctx context.Context, in *folder, f *changedFile) (r resourcesync.Resource, ok bool) {
	begun := time.Now()
	c, err := s.read(ctx, in, f.name)
	s.notices.read(f.key, time.Since(begun))
	isKnown := f.known.Key != ""
	switch {
	case ctx.Err() != nil:
		if err == nil {
			c.copied.discard()
		}
	case err == nil:
		r = c.resource(f.key, f.uri, f.name)
		if isKnown && changes.Recorded(&r, 0, time.Now).EqualEntry(f.known) {
			c.copied.discard() // not a change
		} else if err := c.copied.keep(r.Hashes); err != nil {
			s.failed(f.key, fmt.Errorf("copying it: %w", err))
			return r, false
		}
		return r, true
	case err == errInFlux && isKnown:
		f.known.URI = f.uri
		return f.known, true
	case !errors.Is(err, fs.ErrNotExist):
		s.unreadable(ctx, f.key, only(f.key), err)
	}
	return r, false
}

// isCurrent reports whether known describes the version of a file with the status st, with
// all hashes that the Dir computes.
func (s *scanRun) isCurrent(known *resourcesync.Resource, st *status) bool {
	var b [maxStamp]byte
	stamp, _, summed := cutSum(known.Stamp)
	return stamp == string(st.appendStamp(b[:0])) && summed == (len(s.algorithms) > 0) &&
		slices.EqualFunc(known.Hashes, s.algorithms, func(h resourcesync.Hash, a algorithm) bool {
			return h.Algorithm == a.name
		})
}

// newResource returns the resource of a file, without the fields that require reading
// it.
func newResource(key, uri, name string, st status) resourcesync.Resource {
	return resourcesync.Resource{
		Key:          key,
		URI:          uri,
		LastModified: st.modified.UTC().Truncate(time.Second),
		Length:       resourcesync.Bytes(st.size),
		Type:         typeByName(name),
		Encoding:     encodingByName(name),
		Stamp:        st.stamp(),
	}
}

// resource returns the resource of the file that was read.
func (c *content) resource(key, uri, name string) resourcesync.Resource {
	r := newResource(key, uri, name, c.status)
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
