package dir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
)

// The reasons to skip a file or folder that could be read.
var (
	errTooLong = errors.New("dir: its key or URI would be too long")
	errLink    = errors.New("dir: a symbolic link is not followed; move the file or folder here, or mount it")
)

// Resources scans the folder: it yields its current resources in no particular order. Its memory
// does not depend on their number. It keeps the contract of [resourcesync.Provider], except for
// the order and for unreadable parts: ranging over the result scans, ranging again scans again,
// and an error that makes the scan incomplete is yielded once and last, for example if the folder
// itself cannot be read.
//
// A file, or a folder below, that cannot be read completely is yielded as a
// [resourcesync.UnreadableError] with the range of its keys: permission may be missing,
// the disk broken, or a network drive offline. The scan continues, and stores keep the
// resources listed there before. A file that changes during the read is read again. If
// it keeps changing, the scan yields its last known version or, without one, reports it
// as unreadable. So Hashes and Length always belong to the version of the Stamp.
//
// A file that the set of [Dir.Bind] has in its current version is yielded as its Key alone,
// with [resourcesync.ErrUnchanged]. Without a set, every scan reads every file.
//
// Key is the path of the file below the folder, separated by slashes, in the bytes of
// the file system. LastModified is its modification time in whole seconds, as in HTTP;
// it may be in the future, which stores record as unknown. Type follows from the
// extension, by a table that is the same on every system, or from the first 512 bytes.
// Stamp changes whenever the file may have changed, and also when only its inode has,
// for example by chmod; a new Stamp alone is not a change of the resource.
func (d *Dir) Resources(ctx context.Context) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		skips, fails := d.skips.Begin(), d.fails.Begin()
		s := d.newScan(skips, fails)
		complete := s.notices.begin()
		d.last.Store(s)
		s.ended = func() {
			s.summarize(skips, fails)
			if s.incomplete() == nil && ctx.Err() == nil {
				complete()
			}
		}
		s.yield(ctx, func(ctx context.Context, root *folder) { s.walk(ctx, root, "", s) }, yield)
	}
}

func (d *Dir) newScan(skips, fails problems) *scanRun {
	s := &scanRun{Dir: d, listed: make(chan listed, 1), found: make(chan findings, d.concurrency), notices: d.watching.Load(), skips: skips, fails: fails}
	s.readers.SetLimit(d.concurrency)
	return s
}

// yield yields what walk finds, which calls the methods of s.
func (s *scanRun) yield(ctx context.Context, walk func(ctx context.Context, root *folder), yield func(resourcesync.Resource, error) bool) {
	running, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.run(running, walk) })
	defer wg.Wait()
	defer stop()

	if !s.consume(yield) {
		return
	}
	if err := cmp.Or(ctx.Err(), s.incomplete()); err != nil {
		yield(resourcesync.Resource{}, err)
	}
}

// Findings are some resources, or an unreadable part.
type findings struct {
	resources  []resourcesync.Resource
	unchanged  []string // keys
	unreadable *resourcesync.UnreadableError
}

// listed are files of one folder that a scan has not yet examined.
type listed struct {
	in    *folder // held
	files []file
}

// problems tells new problems from known ones: in a complete scan, a [health.Round];
// in others, the [health.Rounds] of the complete ones.
type problems interface {
	News(name, text string) bool
}

// A scanRun is one pass over the folder or a part of it. It is the visitor of the walk. One
// goroutine walks, one compares files with the known ones, and others read files.
type scanRun struct {
	*Dir
	listed  chan listed
	found   chan findings
	readers errgroup.Group
	notices *notices // nil if the folder is not watched
	skips   problems
	fails   problems
	ended   func() // called when everything has been found; may be nil

	yielded atomic.Int64
	bytes   atomic.Int64
	skipped atomic.Int64

	mu       sync.Mutex
	failures int
	first    error // the first failure
}

// run walks while other goroutines examine and read files, and closes found at the end.
func (s *scanRun) run(ctx context.Context, walk func(context.Context, *folder)) {
	defer close(s.found)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	root, err := s.openRoot()
	if err != nil {
		s.failed("", err)
		return
	}
	defer root.release()
	var examining sync.WaitGroup
	examining.Go(func() { s.examine(ctx, stop) })
	walk(ctx, root) // errors are recorded by failed
	close(s.listed)
	examining.Wait()
	s.readers.Wait()
	// If the folder has disappeared, so have the files that could not be read.
	if err := s.checkRoot(); err != nil && ctx.Err() == nil {
		s.failed("", err)
	}
}

// openRoot reopens the folder of the Dir. It fails if another folder is now at its path.
func (d *Dir) openRoot() (*folder, error) {
	if err := d.checkRoot(); err != nil {
		return nil, err
	}
	return d.folder("")
}

// checkRoot returns an error if the folder of the Dir is no longer at its path.
func (d *Dir) checkRoot() error {
	if !d.root.tryHold() {
		return fs.ErrClosed
	}
	defer d.root.release()
	same, err := d.root.isAt(d.path)
	if err == nil && !same {
		err = errors.New("another folder has taken its place; restart to open it")
	}
	return err
}

// enter starts watching a folder before its entries are read, so that each entry is
// either read or reported.
func (s *scanRun) enter(key string) error {
	s.notices.enter(key)
	return nil
}

func (s *scanRun) report(ctx context.Context, f findings) error {
	select {
	case s.found <- f:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unreadable reports that the file or folder at key cannot be read. If it is the root
// folder, the scan fails.
func (s *scanRun) unreadable(ctx context.Context, key string, keys resourcesync.Range, err error) {
	s.notices.unreadable(keys)
	if key == "" {
		s.failed(key, err)
		return
	}
	err = withRemedy(err)
	s.skip(key, err)
	s.report(ctx, findings{unreadable: &resourcesync.UnreadableError{Keys: keys, Err: fmt.Errorf("dir: %q: %w", key, err)}})
}

// withRemedy adds the remedy to an error about permissions.
func withRemedy(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; let this user read it", err)
	}
	return err
}

// skip records that a file or folder is not listed. The scan remains complete.
func (s *scanRun) skip(key string, err error) {
	s.skipped.Add(1)
	if s.skips.News(key, err.Error()) {
		s.log.Warn("dir: skipped", "key", key, "error", err)
	}
}

// failed records that the scan is incomplete.
func (s *scanRun) failed(key string, err error) {
	err = withRemedy(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures++; s.fails.News(key, err.Error()) {
		s.log.Error("dir: incomplete scan", "key", key, "error", err)
	}
	switch {
	case s.first != nil:
	case key == "":
		s.first = err
	default:
		s.first = fmt.Errorf("%q: %w", key, err)
	}
}

// incomplete returns an error if the scan is incomplete, or nil.
func (s *scanRun) incomplete() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.failures {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("dir: incomplete scan of %s: %w", s.path, s.first)
	}
	return fmt.Errorf("dir: incomplete scan of %s: %d failures, first: %w", s.path, s.failures, s.first)
}
