// Package versions keeps the bytes of versions of files in a folder, so that a set
// whose files change can have a Change Dump.
//
// A [Store] has one copy of each content, under its SHA-256 digest, however many
// files and changes have it. Copies are written while a scan reads the files, and
// are there before it tells of the change. They are pruned by age.
//
// Servers that share the changes, because they keep them in one database, can share
// the folder as well: whichever of them has scanned, all have the copies.
package versions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// slack is how much older than the changes that need it a copy may be: no scan
// takes so long.
const slack = 24 * time.Hour

// A Store is a folder with copies. All methods are safe for concurrent use. Several
// Stores, in several processes, may have a folder open at a time, if only one of them
// at a time makes copies or prunes: the one that scans.
type Store struct {
	path string
	keep time.Duration

	mu    sync.Mutex
	since time.Time // of the copies that are surely there, if later than the file says
}

var _ resourcesync.ChangeOpener = (*Store)(nil)

// Open opens the folder at path, which is made if it is not there, and which
// nothing else may be kept in. Copies in it are kept for at least keep.
func Open(path string, keep time.Duration) (*Store, error) {
	if keep <= 0 {
		return nil, errors.New("versions: keeping them for no time")
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("versions: %w", err)
	}
	s := &Store{path: path, keep: keep}
	_, err := s.readSince()
	if errors.Is(err, fs.ErrNotExist) {
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

// clean removes copies that nobody has finished within the slack before now: whoever
// began them has died.
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

// sinceFile has the time from which there are copies.
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

// Since returns the time from which there are copies, as [resourcesync.Changer]
// has it. It is when the folder was made, until older ones are pruned.
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

// OpenChange opens the copy of the version that c left, as
// [resourcesync.ChangeOpener] has it. It is found by its SHA-256.
func (s *Store) OpenChange(ctx context.Context, c resourcesync.Change) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, ok := s.place(c.Resource.Hashes)
	if !ok || c.Type == resourcesync.Deleted {
		return nil, &fs.PathError{Op: "open", Path: c.Resource.Key, Err: fs.ErrNotExist}
	}
	return os.Open(path)
}

// place returns where the content with these hashes is, if one of them is a
// SHA-256. It has a folder among 256, so that none has too many files.
func (s *Store) place(hashes []resourcesync.Hash) (path string, ok bool) {
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

// Prune removes the copies of which only changes tell that are older than copies
// are kept. Before, it moves Since: a Change Dump no longer offers what is about
// to go. It does so at most once an hour.
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
	// On a disk that is full, there is room to write down since when there are
	// copies only after old ones have gone.
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
