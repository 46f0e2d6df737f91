// Package versions keeps the bytes of versions of files in a folder, so that a set
// whose files change can have a Change Dump.
//
// A [Store] has one copy of each content, under its SHA-256 digest, however many
// files and changes have it. Copies are written while a scan reads the files, and
// are there before it tells of the change. They are pruned by age.
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

// A Store is a folder with copies. All methods are safe for concurrent use. Only
// one Store may have a folder open at a time.
type Store struct {
	path string
	keep time.Duration

	mu    sync.Mutex
	since time.Time
}

var _ resourcesync.ChangeOpener = (*Store)(nil)

// Open opens the folder at path, which is made if it is not there, and which
// nothing else may use. Copies in it are kept for at least keep.
func Open(path string, keep time.Duration) (*Store, error) {
	if keep <= 0 {
		return nil, errors.New("versions: keeping them for no time")
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("versions: %w", err)
	}
	s := &Store{path: path, keep: keep}
	unfinished, err := filepath.Glob(filepath.Join(path, newPrefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("versions: %w", err)
	}
	for _, name := range unfinished {
		if err := os.Remove(name); err != nil {
			return nil, fmt.Errorf("versions: %w", err)
		}
	}
	return s, s.readSince()
}

// sinceFile has the time from which there are copies.
const sinceFile = "since"

func (s *Store) readSince() error {
	text, err := os.ReadFile(filepath.Join(s.path, sinceFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s.writeSince(time.Now())
	}
	if err == nil {
		s.since, err = time.Parse(time.RFC3339Nano, strings.TrimSpace(string(text)))
	}
	if err != nil {
		return fmt.Errorf("versions: %w", err)
	}
	return nil
}

func (s *Store) writeSince(t time.Time) error {
	t = t.UTC().Truncate(time.Microsecond)
	f, err := os.CreateTemp(s.path, newPrefix)
	if err != nil {
		return fmt.Errorf("versions: %w", err)
	}
	_, err = fmt.Fprintln(f, t.Format(time.RFC3339Nano))
	if err := finish(f, filepath.Join(s.path, sinceFile), err); err != nil {
		return err
	}
	s.since = t
	return nil
}

// Since returns the time from which there are copies, as [resourcesync.Changer]
// has it. It is when the folder was made, until older ones are pruned.
func (s *Store) Since(context.Context) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since, nil
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
	s.mu.Lock()
	defer s.mu.Unlock()
	since := time.Now().Add(-s.keep).Truncate(time.Hour)
	if !since.After(s.since) {
		return nil
	}
	if err := s.writeSince(since); err != nil {
		return err
	}
	err := filepath.WalkDir(s.path, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !isDigest(e.Name()) {
			return err
		}
		info, err := e.Info()
		if err == nil && info.ModTime().Before(since.Add(-slack)) {
			err = os.Remove(path)
		}
		if err == nil {
			err = ctx.Err()
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("versions: pruning: %w", err)
	}
	return nil
}
