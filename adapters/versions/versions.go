// Package versions keeps copies of past versions of files, so that a set of files can
// have a Change Dump.
//
// A [Store] has one copy of each content, named by its SHA-256, for all files and
// changes with that content. A scan writes copies while it reads the files, and
// completes each copy before it yields the version. Copies are pruned by age.
//
// Servers that share a journal in one database can also share the folder of copies, so
// that all can serve the copies that the scanning one makes.
package versions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// slack is the maximum time between a copy and the change that needs it: more than any
// scan takes.
const slack = 24 * time.Hour

// A Store is a folder with copies. All methods are safe for concurrent use. Several
// Stores, in several processes, may open the same folder if only one of them at a time
// makes copies and prunes: the one that scans.
type Store struct {
	path  string
	keep  time.Duration
	isNew bool // Open has created the folder

	mu    sync.Mutex
	since time.Time  // overrides sinceFile if later
	links []decision // nil before Link
}

var _ resourcesync.ChangeOpener = (*Store)(nil)

// Open opens the folder at path and creates it if it does not exist. The folder must
// contain nothing else. The Store keeps copies for at least the duration keep, which
// must be positive.
func Open(path string, keep time.Duration) (*Store, error) {
	if keep <= 0 {
		return nil, errors.New("versions: the time to keep versions must be positive")
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("versions: %w", err)
	}
	s := &Store{path: path, keep: keep}
	_, err := s.readSince()
	if errors.Is(err, fs.ErrNotExist) {
		s.isNew = true
		err = s.writeSince(time.Now())
	}
	if err == nil {
		err = s.clean(time.Now())
	}
	if err != nil {
		return nil, fmt.Errorf("versions: %w", err)
	}
	return s, nil
}

// clean removes unfinished copies that are older than slack: the process that began
// them has died.
func (s *Store) clean(now time.Time) error {
	unfinished, err := filepath.Glob(filepath.Join(s.path, newPrefix+"*"))
	for _, name := range unfinished {
		if err == nil {
			err = removeOlder(name, now.Add(-slack))
		}
	}
	return err
}

// removeOlder removes the file at path if it is older than t.
func removeOlder(path string, t time.Time) error {
	info, err := os.Lstat(path)
	if err == nil && info.ModTime().Before(t) {
		err = os.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sinceFile is the name of the file that contains the time of Since.
const sinceFile = "since"

func (s *Store) readSince() (time.Time, error) {
	text, err := os.ReadFile(filepath.Join(s.path, sinceFile))
	if err != nil {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339Nano, strings.TrimSpace(string(text)))
}

func (s *Store) writeSince(t time.Time) error {
	t = t.UTC().Truncate(time.Microsecond)
	f, err := os.CreateTemp(s.path, newPrefix)
	if err != nil {
		return fmt.Errorf("versions: %w", err)
	}
	_, err = fmt.Fprintln(f, t.Format(time.RFC3339Nano))
	return finish(f, filepath.Join(s.path, sinceFile), err)
}

// Since returns the time after which the Store has all versions, like Since of
// [resourcesync.Changer]: the time at which the folder was created, or up to which copies have
// been pruned, if that is later.
func (s *Store) Since(context.Context) (time.Time, error) {
	since, err := s.readSince()
	if err != nil {
		return since, fmt.Errorf("versions: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.After(since) {
		since = s.since
	}
	return since, nil
}

// OpenChange implements [resourcesync.ChangeOpener]: it opens the copy of the version
// after c, which it finds by its SHA-256.
func (s *Store) OpenChange(ctx context.Context, c resourcesync.Change) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, ok := s.pathOf(c.Resource.Hashes)
	if !ok || c.Type == resourcesync.Deleted {
		return nil, &fs.PathError{Op: "open", Path: c.Resource.Key, Err: fs.ErrNotExist}
	}
	return os.Open(path)
}

// pathOf returns the path of the content with these hashes, which must include a
// SHA-256. There are 256 folders, so that none has too many files.
func (s *Store) pathOf(hashes []resourcesync.Hash) (path string, ok bool) {
	for _, h := range hashes {
		if h.Algorithm == "sha-256" && isDigest(h.Digest) {
			return filepath.Join(s.path, h.Digest[:2], h.Digest), true
		}
	}
	return "", false
}

func isDigest(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// Prune removes the copies that only changes need and that are older than the duration given to
// Open. It first moves Since, so that a Change Dump no longer offers these versions. It prunes at
// most once an hour.
func (s *Store) Prune(ctx context.Context) error {
	before, err := s.Since(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	since := now.Add(-s.keep).Truncate(time.Hour)
	if !since.After(before) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = since
	// On a full disk, sinceFile can be written only after old copies have been
	// removed.
	written := s.writeSince(since)
	err = s.clean(now)
	if err == nil {
		err = filepath.WalkDir(s.path, func(path string, e fs.DirEntry, err error) error {
			if err == nil && isDigest(e.Name()) {
				err = removeOlder(path, since.Add(-slack))
			}
			if err == nil {
				err = ctx.Err()
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("versions: pruning: %w", err)
	}
	if written != nil {
		return s.writeSince(since)
	}
	return nil
}

// newPrefix is the prefix of the names of unfinished files.
const newPrefix = "new-"

// A Copy is an unfinished copy. It is not safe for concurrent use.
type Copy struct {
	store *Store
	file  *os.File // nil when done
}

// Create begins a copy. The caller must end it with Keep or Discard.
func (s *Store) Create() (*Copy, error) {
	f, err := os.CreateTemp(s.path, newPrefix)
	if err != nil {
		return nil, fmt.Errorf("versions: %w", err)
	}
	return &Copy{s, f}, nil
}

// Write implements [io.Writer].
func (c *Copy) Write(p []byte) (int, error) { return c.file.Write(p) }

// Keep completes the copy. hashes are the digests of its content, and must include SHA-256. If
// Keep returns nil, the copy is synced to disk. If it fails, for example because the disk is full,
// no copy is kept.
func (c *Copy) Keep(hashes []resourcesync.Hash) error {
	path, ok := c.store.pathOf(hashes)
	if !ok {
		c.Discard()
		return errors.New("versions: the hashes of the copy do not include a SHA-256")
	}
	if c.store.renew(path) {
		c.Discard()
		return nil
	}
	if err := os.Mkdir(filepath.Dir(path), 0o700); err == nil {
		if err := syncFolder(c.store.path); err != nil {
			c.Discard()
			return err
		}
	}
	f := c.file
	c.file = nil
	return finish(f, path, nil)
}

// renew reports whether a copy exists at path. It updates the time of the copy, so that
// Prune does not remove it for the age of an earlier change.
func (s *Store) renew(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	return os.Chtimes(path, now, now) == nil
}

// Discard ends the copy without keeping it. After Keep it does nothing.
func (c *Copy) Discard() {
	if c.file != nil {
		c.file.Close()
		os.Remove(c.file.Name())
		c.file = nil
	}
}

// finish renames f to path atomically. err is the error of writing f; if it is not nil,
// finish removes f and returns it.
func finish(f *os.File, path string, err error) error {
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("versions: %w", err)
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder syncs the names in a folder to disk, where the system supports that.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("versions: %w", err)
	}
	defer d.Close()
	err = d.Sync()
	if err == nil || runtime.GOOS == "windows" || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return fmt.Errorf("versions: %w", err)
}
