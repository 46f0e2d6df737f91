package state

import (
	"context"
	"encoding/json"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/localname"
)

// An Intent announces that content is about to be stored at a path where the copy has nothing, or
// that a copy is about to be deleted. It is recorded before the act, so that after a crash the
// state shows which files belong to the copy.
type Intent struct {
	URI, Path string
	Set, List string
	Seen      int64
	Size      int64
	Hashes    []resourcesync.Hash // of the content

	Deletes  bool
	Identity string // of what is deleted
}

// Place records intents, also on disk. Placed ends them.
func (s *State) Place(ctx context.Context, intents []Intent) error {
	text, err := json.Marshal(intents)
	if err != nil {
		return err
	}
	s.unsure = true
	return s.durably(func() error {
		return s.Write(ctx, func() error { return s.exec("INSERT INTO placing (intents) VALUES (?)", string(text)) })
	})
}

// durably calls f, whose transactions, and all before, are on disk when it returns. Others
// survive the end of the process only, and may be lost when the computer crashes.
func (s *State) durably(f func() error) error {
	if err := s.pragma("synchronous = FULL"); err != nil {
		return err
	}
	err := f()
	if failed := s.pragma("synchronous = NORMAL"); err == nil {
		err = failed
	}
	return err
}

func (s *State) pragma(setting string) error {
	return sqlitex.ExecuteTransient(s.conn, "PRAGMA "+setting, nil)
}

// Placed ends all intents, in a transaction that records their results.
func (s *State) Placed() error {
	if !s.unsure {
		return nil
	}
	return s.exec("DELETE FROM placing")
}

// Settled is called when a transaction with Placed has been committed.
func (s *State) Settled() { s.unsure = false }

// Unsettled returns the intents of which it is not known whether they have been carried out.
func (s *State) Unsettled() (intents []Intent, err error) {
	if !s.unsure {
		return nil, nil
	}
	err = s.query("SELECT intents FROM placing", func(row *sqlite.Stmt) error {
		var some []Intent
		err := json.Unmarshal([]byte(row.ColumnText(0)), &some)
		intents = append(intents, some...)
		return err
	})
	if err == nil && len(intents) == 0 {
		s.unsure = false
	}
	return intents, err
}

// Own records that the content of an intent is stored. The pending change identifies the
// version.
func (s *State) Own(i *Intent) error {
	return s.exec(`INSERT OR IGNORE INTO resource (uri, path, fold, sets, list, seen, datetime, lastmod, length, size, hashes, etag, modified)
		VALUES (?, ?, ?, ?, ?, ?, 0, 0, ?, ?, ?, '', '')`,
		i.URI, i.Path, localname.Fold(i.Path), i.Set, i.List, i.Seen, int64(unknownLength), i.Size, hashes(i.Hashes))
}

// Made reports whether the copy has made a folder.
func (s *State) Made(folder string) (bool, error) {
	n, err := s.int("SELECT EXISTS (SELECT 1 FROM folder WHERE path = ?)", folder)
	return n > 0, err
}

// SaveFolder records that the copy has made a folder.
func (s *State) SaveFolder(folder string) error {
	return s.exec("INSERT OR IGNORE INTO folder (path) VALUES (?)", folder)
}

// DeleteFolder records that a folder is not one that the copy has made.
func (s *State) DeleteFolder(folder string) error {
	return s.exec("DELETE FROM folder WHERE path = ?", folder)
}
