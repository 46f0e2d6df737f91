package versions

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// newPrefix begins the names of files that are still being written.
const newPrefix = "new-"

// A Copy is a copy in the making. It is written by one goroutine.
type Copy struct {
	store *Store
	file  *os.File // nil when done
}

// Create begins a copy. It must be ended by Keep or by Discard.
func (s *Store) Create() (*Copy, error) {
	f, err := os.CreateTemp(s.path, newPrefix)
	if err != nil {
		return nil, fmt.Errorf("versions: %w", err)
	}
	return &Copy{s, f}, nil
}

// Write implements io.Writer.
func (c *Copy) Write(p []byte) (int, error) { return c.file.Write(p) }

// Keep completes the copy, of which these are the hashes, a SHA-256 among them.
// When it returns nil the copy is on the disk for good. It fails, and keeps
// nothing, if the disk is full for instance.
func (c *Copy) Keep(hashes []resourcesync.Hash) error {
	path, ok := c.store.place(hashes)
	if !ok {
		c.Discard()
		return errors.New("versions: no SHA-256 to keep a copy under")
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

// renew reports whether there is a copy at path. It is needed again, and will not
// be pruned for what it was needed for before.
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

// finish puts f, which has been written with err, in its place at path: whole, or
// not at all.
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

// syncFolder has the names in a folder survive a crash, where systems know of
// that.
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
