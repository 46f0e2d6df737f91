package state

import (
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// A resource that several sets have belongs to one of them. The others are in the table also:
// when the first one deletes the resource, it belongs to another one, and stays.

// SetsAre sets the URIs of the sets that the Source has now. A resource of any other set
// belongs to the next set that lists it.
func (s *State) SetsAre(uris []string) { s.sets = uris }

// share records that the set of p has a resource that belongs to another set, or has it no
// more.
func (s *State) share(p *Pending, deleted bool) error {
	uri := p.Change.Resource.URI
	if deleted {
		return s.exec("DELETE FROM also WHERE uri = ? AND sets = ?", uri, p.Set)
	}
	return s.exec(`INSERT INTO also (uri, sets, list, seen, datetime) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT DO UPDATE SET list = iif(?3 = '', list, ?3), seen = max(seen, ?4), datetime = max(datetime, ?5)`,
		uri, p.Set, p.List, p.Seen, nanos(p.Change.Datetime))
}

// settle decides what a change in the set of p means for a resource that several sets have. If
// it means nothing for the copy, over is true.
func (s *State) settle(p *Pending, have *Resource, known bool, before *row, waiting bool) (over bool, err error) {
	if !known && !waiting {
		return false, nil
	}
	owner, list, seen := have.Set, have.List, have.Seen
	if !known {
		owner, list, seen = before.set, before.list, before.seen
	}
	deleted := p.Change.Type == resourcesync.Deleted
	switch {
	case owner == p.Set && deleted:
		return s.inherit(p.Change.Resource.URI)
	case owner == p.Set:
		return false, nil
	case s.sets != nil && !slices.Contains(s.sets, owner):
		err := s.share(p, true) // it belongs to the set of p from now on
		if err == nil && deleted {
			return s.inherit(p.Change.Resource.URI)
		}
		return false, err
	}
	if err := s.share(p, deleted); err != nil || deleted {
		return true, err
	}
	p.Set, p.List, p.Seen = owner, list, seen
	return false, nil
}

// tables have resources that belong to a set.
var tables = [...]string{"resource", "pending"}

// inherit makes a resource belong to another set that has it, and reports whether there is one.
func (s *State) inherit(uri string) (bool, error) {
	n, err := s.int("SELECT count(*) FROM also WHERE uri = ?", uri)
	if n == 0 || err != nil {
		return false, err
	}
	return true, s.inheritAll("uri = ?", uri)
}

// Inherit makes the resources of a set that a baseline, complete up to at, has not seen belong
// to other sets that have them, and forgets those of other sets that it has not seen.
func (s *State) Inherit(set string, baseline int64, at time.Time) error {
	args := unseenArgs(baseline, at)
	if err := s.exec("DELETE FROM also WHERE sets = ? AND "+unseen, append([]any{set}, args...)...); err != nil {
		return err
	}
	n, err := s.int("SELECT EXISTS (SELECT 1 FROM also)")
	if n == 0 || err != nil {
		return err
	}
	return s.inheritAll("sets = ? AND "+unseen, append([]any{set}, args...)...)
}

// inheritAll makes the resources that a condition selects belong to the first of the other sets
// that have them.
func (s *State) inheritAll(condition string, args ...any) error {
	for _, table := range tables {
		err := s.exec("UPDATE "+table+" SET (sets, list, seen) = (SELECT sets, list, seen FROM also WHERE also.uri = "+table+`.uri ORDER BY sets LIMIT 1)
			WHERE `+condition+" AND uri IN (SELECT uri FROM also)", args...)
		if err != nil {
			return err
		}
	}
	for _, table := range tables { // only now, because a resource can be in both
		if err := s.exec("DELETE FROM also WHERE EXISTS (SELECT 1 FROM " + table + " t WHERE t.uri = also.uri AND t.sets = also.sets)"); err != nil {
			return err
		}
	}
	return nil
}
