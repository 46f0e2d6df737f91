package state

import (
	"context"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
)

// A Move states that the URIs with a prefix have got another prefix.
type Move struct{ Old, New string }

// An OtherSourceError means that the state belongs to another Source.
type OtherSourceError struct{ Known, Given string }

func (e *OtherSourceError) Error() string {
	return fmt.Sprintf("this is a copy of %s; use another folder for %s, or --moved if the Source has moved there", e.Known, e.Given)
}

// belongs records the Source of a new state, and otherwise compares it. A Source that may have
// moved is different until Move.
func (s *State) belongs(source string, isNew, mayMove bool) error {
	if isNew {
		return s.exec("INSERT INTO mirror (source) VALUES (?)", source)
	}
	var known string
	err := s.query("SELECT source FROM mirror", func(row *sqlite.Stmt) error {
		known = row.ColumnText(0)
		return nil
	})
	if err != nil {
		return err
	}
	if known != source {
		if !mayMove {
			return &OtherSourceError{known, source}
		}
		s.before = known
	}
	return s.readMoves()
}

func (s *State) readMoves() error {
	s.moves = nil
	return s.query("SELECT old, new FROM moved ORDER BY rowid DESC", func(row *sqlite.Stmt) error {
		s.moves = append(s.moves, Move{row.ColumnText(0), row.ColumnText(1)})
		return nil
	})
}

// Before returns the URL that the Source had when the state was used last, or "" if it is the
// same.
func (s *State) Before() string { return s.before }

// KnownSets returns the URIs of all sets that have been read.
func (s *State) KnownSets() (uris []string, err error) {
	err = s.query("SELECT uri FROM sets ORDER BY uri", func(row *sqlite.Stmt) error {
		uris = append(uris, row.ColumnText(0))
		return nil
	})
	return uris, err
}

// MoveTo records that the Source is now at another URL, with the new URIs of its sets and of the list to
// which the copy is restricted, or "". Its lists are
// compared with the copy as at first, so pending changes are forgotten, except for deletions.
func (s *State) MoveTo(ctx context.Context, source, list string, moves []Move, sets []Move) error {
	err := s.Write(ctx, func() error {
		for _, set := range sets {
			for _, sql := range []string{
				"UPDATE OR REPLACE sets SET uri = ?2 WHERE uri = ?1", "UPDATE resource SET sets = ?2 WHERE sets = ?1",
				"UPDATE pending SET sets = ?2 WHERE sets = ?1", "UPDATE OR REPLACE also SET sets = ?2 WHERE sets = ?1",
			} {
				if err := s.exec(sql, set.Old, set.New); err != nil {
					return err
				}
			}
		}
		for _, sql := range []string{"DELETE FROM document", "DELETE FROM page", "DELETE FROM reading", "DELETE FROM pause", "UPDATE sets SET complete = 0", "DELETE FROM pending WHERE change != 'deleted'"} {
			if err := s.exec(sql); err != nil {
				return err
			}
		}
		for _, m := range moves {
			// A former URL that redirects has given the copy resources at both URLs. Only the new one is current,
			// so no change of the other keeps it from being absent in the lists.
			if err := s.exec(`UPDATE resource SET datetime = 0 WHERE uri >= ?1 AND uri < ?1 || char(0x10ffff)
				AND EXISTS (SELECT 1 FROM resource r WHERE r.uri = ?2 || substr(resource.uri, length(?1) + 1))`, m.Old, m.New); err != nil {
				return err
			}
		}
		for i := len(moves) - 1; i >= 0; i-- {
			if err := s.exec("INSERT INTO moved (old, new) VALUES (?, ?)", moves[i].Old, moves[i].New); err != nil {
				return err
			}
		}
		return s.exec("UPDATE mirror SET source = ?, list = ?", source, list)
	})
	if err != nil {
		return err
	}
	s.before = ""
	return s.readMoves()
}

// Moved returns the member of the copy for a URI of the Source under its former URI, if the Source
// has moved as in moves or before.
func (s *State) Moved(uri string, moves []Move) (former string, r Resource, ok bool, err error) {
	return s.moved(uri, append(moves[:len(moves):len(moves)], s.moves...))
}

// moved tries the newest of the moves first, and for each the earlier ones.
func (s *State) moved(uri string, moves []Move) (former string, r Resource, ok bool, err error) {
	for i, m := range moves {
		rest, under := strings.CutPrefix(uri, m.New)
		if !under {
			continue
		}
		former = m.Old + rest
		if r, ok, err = s.Resource(former); !ok && err == nil {
			former, r, ok, err = s.moved(former, moves[i+1:])
		}
		if ok || err != nil {
			return former, r, ok, err
		}
	}
	return "", r, false, nil
}

// find returns the member of the copy for uri. A member under a former URI gets this URI, and so does
// its pending change, unless there is a newer one. Its validators do not come from the current
// server.
func (s *State) find(uri string) (r Resource, ok bool, err error) {
	if r, ok, err = s.Resource(uri); ok || err != nil || len(s.moves) == 0 {
		return r, ok, err
	}
	former, r, ok, err := s.moved(uri, s.moves)
	if !ok || err != nil {
		return r, ok, err
	}
	s.renamed++
	r.Validators.ETag, r.Validators.LastModified = "", ""
	if err := s.exec("UPDATE resource SET uri = ?, etag = '', modified = '' WHERE uri = ?", uri, former); err != nil {
		return r, false, err
	}
	for _, sql := range []string{
		"UPDATE OR IGNORE pending SET uri = ?1 WHERE uri = ?2", "DELETE FROM pending WHERE uri = ?2", "DELETE FROM also WHERE uri = ?2",
	} {
		if err := s.exec(sql, uri, former); err != nil {
			return r, false, err
		}
	}
	return r, true, nil
}

// TakeRenamed returns the number of members that have got another URI since the last call.
func (s *State) TakeRenamed() int64 {
	n := s.renamed
	s.renamed = 0
	return n
}
