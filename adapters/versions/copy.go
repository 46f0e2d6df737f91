package versions

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

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

// Write implements io.Writer.
func (c *Copy) Write(p []byte) (int, error) { return c.file.Write(p) }

// Keep completes the copy. hashes are those of its content and must include a SHA-256.
// If Keep returns nil, the copy is synced to disk. If it fails, for example because the
// disk is full, no copy is kept.
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
	if err := d.Sync(); err != nil && !isUnsupported(err) {
		return fmt.Errorf("versions: %w", err)
	}
	return nil
}
