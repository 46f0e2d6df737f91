package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"zombiezen.com/go/sqlite"
)

// A DamagedError means that the database of the state is damaged.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the state of the copy, %s, is damaged (%v); rebuild it from the copy and the Source with --rebuild", e.Path, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

func isDamage(err error) bool {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return err != nil
	}
	return false
}

// Check reads the whole database, and returns a DamagedError if it is damaged.
func (s *State) Check() error {
	var found error
	err := s.query("PRAGMA quick_check(1)", func(row *sqlite.Stmt) error {
		if text := row.ColumnText(0); text != "ok" {
			found = &DamagedError{s.path, errors.New(text)}
		}
		return nil
	})
	return errors.Join(err, found)
}

// SetAside renames the database at path with its logs, and returns its new path.
func SetAside(path string, now time.Time) (aside string, err error) {
	aside = path + ".damaged-" + now.UTC().Format("20060102T150405.000Z")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if failed := os.Rename(path+suffix, aside+suffix); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return aside, err
}
