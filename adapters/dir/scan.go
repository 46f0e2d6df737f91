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
	"github.com/resourcesync-go/resourcesync/internal/health"
)

// errTooLong says why a file or folder cannot be listed.
var errTooLong = errors.New("dir: its key or URI would be too long")

// Resources scans the folder: it yields the resources that are in it now, in no
// particular order and with bounded memory however many there are. The contract is
// that of [resourcesync.Provider] except for the order and for unreadable parts:
// nothing happens until the result is ranged over, ranging again scans again, and an
// error that says that the scan is incomplete comes once and last, for example
// because the folder itself cannot be read.
//
// A folder below it that cannot be read completely is yielded as a
// [resourcesync.UnreadableError] with the range of all keys below it, and so is a
// file: permission may be missing, the disk broken, or a network drive offline. The
// scan continues, and resources listed there before are not deleted. A file that
// changes while it is read is read again. If it keeps changing, it is yielded as
// last known, or else as unreadable. So Hashes and Length always belong to the
// version that Stamp stands for.
//
// Key is the file's path below the folder, separated by slashes, in the bytes of the
// file system; LastModified is its modification time in whole seconds, as in HTTP,
// even if that is in the future, which stores record as unknown; Type follows from
// the extension, by a table that is the same on every system, or else from the first
// 512 bytes. Stamp moves whenever the file may have changed, but also when only its
// inode has, by chmod for example: alone, it is no change of the resource.
func (d *Dir) Resources(ctx context.Context) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		s := &scan{Dir: d, found: make(chan finding), skips: d.skips.Begin(), fails: d.fails.Begin()}
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

// A finding is a resource or an unreadable part.
type finding struct {
	resource   resourcesync.Resource
	unreadable *resourcesync.UnreadableError
}

// A scan is one pass over the folder. It is the visitor of the walk.
type scan struct {
	*Dir
	found   chan finding
	readers errgroup.Group
	skips   *health.Round
	fails   *health.Round

	listed  int64 // of the consumer alone
	bytes   atomic.Int64
	skipped atomic.Int64

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
		s.failed("", err)
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
				s.failed(keys[0], fmt.Errorf("what is known of it: %w", err))
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
		if known.LastModified.IsZero() {
			// The time was in the future when this version was recorded. Its arrival
			// does not change the resource.
			r.LastModified = time.Time{}
		}
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
			if err == nil {
				c.copied.discard()
			}
			return nil
		case err == nil:
			r := c.resource(key, uri)
			if isKnown && asRecorded(r).EqualEntry(known) {
				c.copied.discard() // it is no change
			} else if err := c.copied.keep(r.Hashes); err != nil {
				s.failed(key, fmt.Errorf("copying it: %w", err))
				return nil
			}
			return s.send(ctx, r)
		case err == errInFlux && isKnown:
			known.URI = uri
			return s.send(ctx, known)
		case !errors.Is(err, fs.ErrNotExist):
			s.unreadable(ctx, key, alone(key), err)
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

// asRecorded returns r as a store records it now: with an unknown LastModified if
// that is in the future.
func asRecorded(r resourcesync.Resource) resourcesync.Resource {
	if r.LastModified.After(time.Now()) {
		r.LastModified = time.Time{}
	}
	return r
}

// newResource returns what can be said of a file without reading it.
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
	return s.report(ctx, finding{resource: r})
}

func (s *scan) report(ctx context.Context, f finding) error {
	select {
	case s.found <- f:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *scan) tooLong(key string) { s.skip(key, errTooLong) }

// unreadable notes that the file or folder at key could not be read. If that is the
// root folder itself, the scan ends.
func (s *scan) unreadable(ctx context.Context, key string, keys resourcesync.Range, err error) {
	if key == "" {
		s.failed(key, err)
		return
	}
	s.skip(key, err)
	s.report(ctx, finding{unreadable: &resourcesync.UnreadableError{Keys: keys, Err: fmt.Errorf("dir: %q: %w", key, err)}})
}

// skip notes that a file or folder is not listed, which does not fail the scan.
func (s *scan) skip(key string, err error) {
	s.skipped.Add(1)
	if s.skips.News(key, err.Error()) {
		s.log.Warn("dir: skipped", "key", key, "err", err)
	}
}

// failed notes that the scan is not complete.
func (s *scan) failed(key string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures++; s.fails.News(key, err.Error()) {
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
