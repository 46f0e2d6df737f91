package dir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
)

// maxNotes bounds the log lines of one scan about what it did not list.
const maxNotes = 10

// errTooLong says why a file or folder cannot be listed.
var errTooLong = errors.New("dir: its key or URI would be too long")

// Resources scans the folder: it yields the resources that are in it now, in no
// particular order and with bounded memory however many there are. The contract
// is that of [resourcesync.Provider] but for the order: nothing happens until
// the result is ranged over, ranging again scans again, and an error comes once
// and last.
//
// An error says that the scan is incomplete, for example because a folder could
// not be read; what else there is has been yielded before. Files and folders for
// which permission is lacking do not fail a scan: they are left out, as nobody
// could be served them. A file that changes while it is read is read again, and if it does not hold still it is yielded as it was
// known, or left for the next scan. So Hashes and Length always belong to the
// version that Stamp stands for.
//
// Key is the file's path below the folder, separated by slashes, in the bytes of
// the file system; LastModified is its modification time in whole seconds, as in
// HTTP; Type follows from the extension, by a table that is the same everywhere,
// or else from the first 512 bytes. Stamp moves whenever the file may have
// changed, but also when only its inode has, by chmod for example: alone, it is
// no change of the resource.
func (d *Dir) Resources(ctx context.Context) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		s := &scan{Dir: d, found: make(chan resourcesync.Resource)}
		s.readers.SetLimit(d.concurrency)
		running, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() { s.run(running) })
		defer wg.Wait()
		defer stop()

		if !s.consume(yield) {
			return
		}
		if err := cmp.Or(ctx.Err(), s.incomplete()); err != nil {
			yield(resourcesync.Resource{}, err)
		}
	}
}

// A scan is one pass over the folder. It is the visitor of the walk.
type scan struct {
	*Dir
	found   chan resourcesync.Resource
	readers errgroup.Group

	listed  int64 // of the consumer alone
	bytes   atomic.Int64
	leftOut atomic.Int64

	mu       sync.Mutex
	failures int
	first    error // of the failures
}

// run walks the folder, has what has changed read beside it, and closes found
// when all is done.
func (s *scan) run(ctx context.Context) {
	defer close(s.found)
	defer s.readers.Wait()
	root, err := s.openRoot()
	if err != nil {
		s.unreadable("", err)
		return
	}
	defer root.release()
	s.walk(ctx, root, "", s) // what ends it early is noted
}

// openRoot opens the folder of the Dir anew, if it is still the one at its path.
func (d *Dir) openRoot() (*folder, error) {
	root, err := d.root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	held, err := root.Stat(".")
	if err == nil {
		var there fs.FileInfo
		there, err = os.Stat(d.path)
		if err == nil && !os.SameFile(held, there) {
			err = errors.New("another folder has taken its place: it must be opened anew, by starting again")
		}
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return newFolder(root), nil
}

func (s *scan) enter(string) error { return nil }

// files yields the files that need not be read, and the others when they have
// been.
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
				s.unreadable(keys[0], fmt.Errorf("what is known of it: %w", err))
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

// file yields the file at once if it need not be read, and otherwise when it
// has been.
func (s *scan) file(ctx context.Context, in *folder, key string, info fs.FileInfo, known resourcesync.Resource) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	uri, ok := s.uri(key)
	if !ok {
		s.tooLong(key)
		return nil
	}
	isKnown := known.Key != ""
	r := newResource(key, uri, info)
	if isKnown && s.isCurrent(known, r) {
		r.Hashes = known.Hashes
		r.Type = cmp.Or(r.Type, known.Type)
		r.Stamp = known.Stamp
	}
	if r.Type != "" && len(r.Hashes) == len(s.algorithms) {
		return s.send(ctx, r)
	}
	in.hold()
	s.readers.Go(func() error {
		defer in.release()
		c, err := s.read(ctx, in.Root, info.Name())
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			r := c.resource(key, uri)
			if isKnown && r.EqualEntry(known) {
				c.copied.discard() // it is no change
			} else if err := c.copied.keep(r.Hashes); err != nil {
				s.failed(key, fmt.Errorf("copying it: %w", err))
				return nil
			}
			return s.send(ctx, r)
		case err == errInFlux && isKnown:
			known.URI = uri
			return s.send(ctx, known)
		case err == errInFlux:
			s.leave(key, err)
		case !errors.Is(err, fs.ErrNotExist):
			s.unreadable(key, err)
		}
		return nil
	})
	return nil
}

// isCurrent reports whether what is known of a file still holds for r, the same
// file as it is now, and is all that can be known of it.
func (s *scan) isCurrent(known, r resourcesync.Resource) bool {
	stamp, _, summed := cutSum(known.Stamp)
	return stamp == r.Stamp && summed == (len(s.algorithms) > 0) &&
		slices.EqualFunc(known.Hashes, s.algorithms, func(h resourcesync.Hash, a algorithm) bool {
			return h.Algorithm == a.name
		})
}

// newResource returns what can be said of a file without reading it.
func newResource(key, uri string, info fs.FileInfo) resourcesync.Resource {
	return resourcesync.Resource{
		Key:          key,
		URI:          uri,
		LastModified: info.ModTime().UTC().Truncate(time.Second),
		Length:       resourcesync.Bytes(info.Size()),
		Type:         typeByName(info.Name()),
		Stamp:        stampOf(info),
	}
}

// resource returns all that can be said of the file that was read.
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

func (s *scan) send(ctx context.Context, r resourcesync.Resource) error {
	select {
	case s.found <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *scan) tooLong(key string) { s.leave(key, errTooLong) }

// leave notes that a file is not listed, which does not fail the scan.
func (s *scan) leave(key string, err error) {
	if s.leftOut.Add(1) <= maxNotes {
		s.log.Warn("dir: left out", "key", key, "err", err)
	}
}

// unreadable notes that what is at key could not be seen, so that the scan is
// not complete. What may not be read, below the folder itself, is not missing:
// it could not be served either.
func (s *scan) unreadable(key string, err error) {
	if key != "" && errors.Is(err, fs.ErrPermission) {
		s.leave(key, err)
		return
	}
	s.failed(key, err)
}

// failed notes that the scan is not complete.
func (s *scan) failed(key string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures++; s.failures <= maxNotes {
		s.log.Error("dir: incomplete scan", "key", key, "err", err)
	}
	if s.first == nil {
		s.first = fmt.Errorf("%q: %w", key, err)
	}
}

// incomplete returns what kept the scan from being complete, or nil.
func (s *scan) incomplete() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures == 0 {
		return nil
	}
	return fmt.Errorf("dir: incomplete scan of %s, %d failed, the first is %w", s.path, s.failures, s.first)
}
