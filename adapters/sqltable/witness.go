package sqltable

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
)

// A witness knows, outside of the database, the newest change that was published: by this
// process, and with a file also by the one before.
type witness struct {
	path  string    // "" without a file
	kept  testimony // the content of the file
	known bool      // this process has proven the journal, so it knows all that was published before
}

// A testimony is the content of a file.
type testimony struct {
	Journal string    `json:"journal"` // the table and the set
	Seen    time.Time `json:"seen"`    // the newest change
	Closed  bool      `json:"closed"`  // nothing later was published
}

// openWitness opens the witness of a journal in a file; path may be empty.
func openWitness(path, journal string) (*witness, error) {
	w := &witness{path: path, kept: testimony{Journal: journal}}
	if path == "" {
		return w, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &w.kept)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("witness %s: %w", path, err)
	case w.kept.Journal != journal:
		return nil, fmt.Errorf("witness %s: it belongs to the journal %q, not to %q: give another file", path, w.kept.Journal, journal)
	}
	return w, nil
}

// seen returns the time of the newest change known to be published. exact reports that no
// later one can have been published.
func (w *witness) seen(j *sqlstore.Journal) (at time.Time, exact bool) {
	at, exact = w.kept.Seen, w.kept.Closed || w.known
	if now := j.Seen(); now.After(at) {
		at = now
	}
	return at, exact
}

// saw notes that the journal is proven, and that at is the time of its newest change.
func (w *witness) saw(at time.Time) error {
	w.known = true
	if at.Equal(w.kept.Seen) && !w.kept.Closed {
		return nil
	}
	w.kept.Seen, w.kept.Closed = at, false
	return w.write()
}

// close notes that nothing later than last, the newest change in the database, was published. last is
// zero if it is unknown.
func (w *witness) close(j *sqlstore.Journal, last time.Time) error {
	w.kept.Seen, _ = w.seen(j)
	if last.After(w.kept.Seen) {
		w.kept.Seen = last
	}
	w.kept.Closed = w.known && !last.IsZero()
	return w.write()
}

// write replaces the file, so that it is complete at any moment.
func (w *witness) write() error {
	if w.path == "" {
		return nil
	}
	text, err := json.Marshal(w.kept)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(w.path), filepath.Base(w.path)+".*")
	if err != nil {
		return fmt.Errorf("witness: %w", err)
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), w.path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return fmt.Errorf("witness: %w", err)
	}
	return nil
}
