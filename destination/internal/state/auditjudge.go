package state

import (
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync"
)

// A set states only its own resources, so a deletion counts for its set only: the Source
// has a resource as long as any set has it. But all sets have the same version of it.

// changeIn returns the change of a set, or nil.
func changeIn(set string, staged []Staged) *Staged {
	for i := range staged {
		if staged[i].Set == set {
			return &staged[i]
		}
	}
	return nil
}

// lastChange returns the last of the changes that count for a set, or nil: a version, also one of
// another set, or the deletion of its own.
func lastChange(set string, staged []Staged) *Staged {
	own := changeIn(set, staged)
	last := own
	if own != nil && own.isDeletion() {
		last = nil
	}
	for i := range staged {
		w := &staged[i]
		if !w.isDeletion() && (last == nil || w.Change.Datetime.After(last.Change.Datetime)) {
			last = w
		}
	}
	if last == nil {
		return own
	}
	return last
}

// lastVersion returns the last change that is not a deletion and that the lists, which are as of
// at, need not show, or nil.
func lastVersion(staged []Staged, at map[string]time.Time) (last *Staged) {
	for i := range staged {
		w := &staged[i]
		if !w.isDeletion() && !w.isShown(at[w.Set]) && (last == nil || w.Change.Datetime.After(last.Change.Datetime)) {
			last = w
		}
	}
	return last
}

// isDeletion reports whether the change is certainly a deletion.
func (w *Staged) isDeletion() bool {
	return w.Change.Type == resourcesync.Deleted && w.Unsure == DoubtNone
}

// isAfter reports whether the change is certainly later than lists as of at.
func (w *Staged) isAfter(at time.Time) bool { return !at.IsZero() && w.Change.Datetime.After(at) }

// isShown reports whether lists as of at certainly show the change.
func (w *Staged) isShown(at time.Time) bool {
	t := w.Change.Datetime
	return !t.IsZero() && !at.IsZero() && t.Before(at.Add(-MaxMargin))
}

// isBefore reports whether the change certainly is earlier than the last known one of the copy: an old document of
// a cache lacks that one.
func (w *Staged) isBefore(m *Member) bool {
	t := w.Change.Datetime
	return !t.IsZero() && t.Before(m.Datetime) && w.Unsure == DoubtNone && w.Age != AgeNew
}

// judge compares the entry p of a Resource List as of at and the last change w of a resource, each
// of which can be nil, with the member m of the copy, or nil. A change after at wins. Otherwise
// the last Sync has decided which of the two is later, if it knew the change.
func (a *Audit) judge(at time.Time, p *Pending, w *Staged, m *Member) (Comparison, error) {
	if p != nil && w != nil && m != nil && !w.isAfter(at) && m.isBefore(w, &p.Change) {
		return a.s.repair(p, m)
	}
	later := m != nil && !at.IsZero() && possible(m.Datetime, at, time.Now()).After(at)
	if w != nil && (w.isShown(at) && (m == nil || w.Age == AgeKnown || !m.predates(w)) || later && w.isBefore(m)) {
		w = nil
	}
	if w == nil {
		switch {
		case p == nil && (m == nil || later):
			return Later, nil
		case p == nil: // no document deletes it, so the next Sync compares all resources of its set
			return Extra, a.s.exec("UPDATE sets SET complete = 0 WHERE uri = ? AND complete <> 0", m.Set)
		case m != nil && m.lacksLastMod(&p.Change): // even an old lastmod proves nothing: it can run backwards
			return Undecided, nil
		case m != nil && m.match(&p.Change) != differs:
			return Same, nil
		case later && m != nil && isAhead(p, m.Datetime):
			return Undecided, a.s.askListed(p, m)
		case later:
			return Later, nil
		}
		return a.s.repair(p, m)
	}
	version := &resourcesync.Change{Resource: w.Change.Resource}
	deleted := w.isDeletion()
	switch {
	case w.Unsure != DoubtNone && w.Age != AgeKnown:
		return Undecided, nil
	case w.Unsure != DoubtNone && m == nil:
		return a.s.decided(w.Change.Resource.URI, Later, Missing)
	case w.Unsure != DoubtNone && p != nil && m.match(&p.Change) == current: // the list may be older
		return a.s.decided(w.Change.Resource.URI, Same, Undecided)
	case w.Unsure != DoubtNone:
		return a.s.decided(w.Change.Resource.URI, Same, Differs)
	case deleted && p == nil:
		if m == nil {
			return Later, nil
		}
		return a.s.remove(w, m)
	case w.isAfter(at):
		switch {
		case m != nil && m.showsAfter(w):
			return Same, nil
		case m != nil && m.match(version) == current:
			return Undecided, nil // a lastmod can stay the same when a resource changes
		case m != nil && w.Age == AgeKnown && m.isAsOf(&w.Change):
			return a.s.decided(w.Change.Resource.URI, Same, Differs)
		}
		return a.s.repair(&w.Pending, m)
	case w.Age != AgeKnown && (p == nil || deleted):
		return Undecided, nil
	case m == nil && (p == nil || deleted):
		return a.s.decided(w.Change.Resource.URI, Later, Missing)
	case m != nil && p != nil && !deleted && w.Age != AgeKnown && !m.isDecided(w, version, &p.Change):
		return Undecided, nil
	case m != nil && p != nil && !deleted && m.match(version) == unsure && m.isAsked(&p.Change):
		return Undecided, nil // it can be another change that looks the same
	case m != nil && !deleted && m.match(version) != differs:
		return Same, nil
	case m != nil && p != nil && m.match(&p.Change) != differs:
		if m.isAsked(&p.Change) {
			return Undecided, nil
		}
		if deleted || w.Age != AgeKnown {
			return Same, nil
		}
		return a.s.decided(w.Change.Resource.URI, Same, Differs)
	case p == nil:
		return a.s.decided(w.Change.Resource.URI, Same, Differs)
	case m != nil && !deleted && w.Age != AgeKnown && !sameVersion(version, &p.Change):
		return Undecided, nil
	}
	return a.s.repair(p, m)
}

// isBefore reports whether the copy certainly is older than a change that the last Sync has not
// read, although the entry of a Resource List may not show that.
func (m *Member) isBefore(w *Staged, entry *resourcesync.Change) bool {
	t := w.Change.Datetime
	if w.isDeletion() || w.Unsure != DoubtNone || w.Age == AgeKnown || !t.After(m.Datetime) || t.After(w.Date) || m.requestedAfter(t) {
		return false
	}
	return m.match(entry) != current && m.match(&resourcesync.Change{Resource: w.Change.Resource}) != current
}

// isDecided reports whether a version after a change that the last Sync has not read, and an entry of a Resource List,
// tell for certain whether the copy shows the change.
func (m *Member) isDecided(w *Staged, version, entry *resourcesync.Change) bool {
	switch m.match(version) {
	case current:
		return m.follows(w)
	case differs:
		return m.match(entry) == differs
	}
	return false
}

// decided returns how a resource compares that the last Sync has judged: applied if it has done
// what it has decided, and failed if it could not copy the resource. A question that it has not
// asked is undecided.
func (s *State) decided(uri string, applied, failed Comparison) (Comparison, error) {
	result := applied
	err := s.query("SELECT doubt > 0 AND attempts = 0 FROM pending WHERE uri = ? AND change != 'deleted' AND "+unsettled, func(row *sqlite.Stmt) error {
		if result = failed; row.ColumnBool(0) {
			result = Undecided
		}
		return nil
	}, uri)
	return result, err
}

// showsAfter reports whether the copy shows the version after w, as far as the documents tell.
func (m *Member) showsAfter(w *Staged) bool {
	switch m.match(&resourcesync.Change{Resource: w.Change.Resource}) {
	case current:
		return w.Age == AgeKnown || m.isAsOf(&w.Change) || m.follows(w)
	case unsure:
		return w.Age == AgeKnown || m.Datetime.Equal(w.Change.Datetime)
	}
	return false
}

// repair notes a resource that is missing or differs, unless a change of it is noted, or no Sync has read its set: the
// first one compares it, and none knows that the set has existed if it vanishes before.
func (s *State) repair(p *Pending, m *Member) (Comparison, error) {
	result := Missing
	if p.Change.Type = resourcesync.Created; m != nil {
		if result, p.Change.Type = Differs, resourcesync.Updated; m.canBe(&p.Change) {
			result = Undecided
		}
	}
	before, waiting, err := s.row(p.Change.Resource.URI)
	if waiting || err != nil {
		return result, err
	}
	if known, err := s.int("SELECT EXISTS (SELECT 1 FROM sets WHERE uri = ?)", p.Set); known == 0 || err != nil {
		return result, err
	}
	if m != nil { // it stays in the set that it belongs to
		if err := s.join(p, &knowledge{have: m.Resource, copied: true}); err != nil {
			return result, err
		}
	}
	p.Package = 0
	_, err = s.put(p, &before, false)
	return result, err
}

// askListed makes the next Sync ask for a resource whose entry differs from the copy, as [State.Note] does if the
// Resource List can be later than its at.
func (s *State) askListed(p *Pending, m *Member) error {
	if err := s.distrust(&knowledge{have: m.Resource, copied: true}, &p.Change); err != nil {
		return err
	}
	p.ask(DoubtVersion, time.Time{})
	_, err := s.repair(p, m)
	return err
}

// remove notes the deletion of a member that a document of its set deletes, unless a change of it
// is noted, or it is a member of other sets. If the last Sync has known the deletion and kept the
// member, the next one asks again.
func (s *State) remove(w *Staged, m *Member) (Comparison, error) {
	before, waiting, err := s.row(m.URI)
	if waiting || err != nil {
		return Extra, err
	}
	if w.Age == AgeKnown {
		return Undecided, s.question(m.URI)
	}
	if shared, err := s.IsShared(m.URI); shared || err != nil {
		return Extra, err
	}
	_, err = s.put(&w.Pending, &before, false)
	return Extra, err
}
