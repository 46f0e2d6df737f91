package state

import (
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/digest"
)

// A verdict is the relation of a change to the recorded state of its resource.
type verdict int

const (
	older verdict = iota
	newer
	doubtful // the documents do not say; the resource is asked
)

// MaxMargin is the maximum delay with which a change is listed, and by which the at of a Resource
// List can be wrong.
const MaxMargin = 24 * time.Hour

// NoteChange notes a change of a set, unless the copy shows it, it is noted already, or a later
// one is known. If the documents do not say whether it is later, its resource is asked: the
// pending change is in doubt.
func (s *State) NoteChange(in *Set, p *Staged) (noted bool, err error) {
	if p.Age == AgeKnown {
		return false, nil
	}
	k, err := s.known(p.Change.Resource.URI)
	if err != nil {
		return false, err
	}
	c := &p.Change
	p.New = !k.copied
	deleted := c.Type == resourcesync.Deleted
	switch {
	case p.Unsure == DoubtDeletion && k.owner().set == in.URI && k.judge(in, p) != older:
		if ceded, err := s.cede(c.Resource.URI, k.owner(), k.have.Datetime); ceded || err != nil {
			return ceded, err
		}
	case !deleted || p.Unsure != DoubtNone:
		if err := s.joinBy(in, p, &k); err != nil {
			return false, err
		}
	case !k.copied && !k.waiting:
		return false, nil
	default:
		if over, asked, err := s.leave(in, p, k); over || err != nil {
			return asked, err
		}
	}
	if owner := k.owner(); owner.set != "" && owner.set != in.URI {
		other, err := s.Set(owner.set)
		if err != nil {
			return false, err
		}
		if other.Baseline > 0 && owner.seen == other.Baseline {
			k.elsewhere, k.untimed = other.Base, other.Base.IsZero()
		}
	}
	if err := s.detach(&k, c); err != nil {
		return false, err
	}
	verdict := k.judge(in, p)
	switch {
	case p.Unsure != DoubtNone && verdict != older:
		if err := s.distrust(&k, c); err != nil {
			return false, err
		}
		c.Type = resourcesync.Updated
		p.ask(p.Unsure, time.Time{})
	case verdict == older:
		return false, s.hint(&k, deleted)
	case !deleted && p.Age != AgeNew && k.row.asks(c):
		return s.askAgain(&k)
	case verdict == doubtful && deleted:
		if k.copied && k.have.Set != in.URI || k.waiting && k.row.set != in.URI {
			return false, nil // another set has it
		}
		if k.waiting {
			return s.doubt(&k)
		}
		c.Type = resourcesync.Updated
		p.ask(DoubtDeletion, k.have.LastMod)
	case verdict == doubtful:
		if k.waiting && k.row.describes(c) {
			if c.Datetime.After(p.Date) {
				err = s.exec("UPDATE pending SET doubt = max(doubt, ?1), attempts = iif(doubt < ?1, 0, attempts) WHERE seq = ?2", DoubtVersion, k.row.seq)
			}
			return false, err
		}
		if version := (resourcesync.Change{Resource: c.Resource}); k.copied && !k.waiting && k.have.match(&version) == current && k.have.follows(p) {
			if c.Datetime.After(p.Date) {
				return false, nil
			}
			return false, s.changed(c, &k.have)
		}
		// Clocks differ a little, so a new change can be in the future, and right.
		if p.Doubt = DoubtVersion; (k.copied || k.waiting) && !(p.Age == AgeNew && c.Datetime.After(p.Date)) {
			if err := s.distrust(&k, c); err != nil {
				return false, err
			}
			p.ask(DoubtVersion, time.Time{})
		}
	case !deleted && k.copied && k.shows(p):
		if err := s.changed(c, &k.have); err != nil || !k.waiting {
			return false, err
		}
	}
	if verdict == newer && k.copied && p.Age != AgeNew && k.have.isAsOf(c) { // the copy is what was there after this very change
		switch {
		case !deleted:
			p.ask(max(p.Doubt, DoubtVersion), time.Time{})
		case k.have.Set == in.URI && c.Type == resourcesync.Deleted: // of the same time as a change after it, perhaps
			c.Type = resourcesync.Updated
			p.ask(DoubtDeletion, k.have.LastMod)
		}
	}
	if c.Type == resourcesync.Deleted {
		if over, asked, err := s.delete(&p.Pending, &k); over || err != nil {
			return asked, err
		}
	}
	if c.Datetime.IsZero() {
		c.Datetime = p.Estimate
	}
	if k.waiting && k.row.set == p.Set && c.Type != resourcesync.Deleted {
		p.List, p.Seen = k.row.list, k.row.seen // it still is listed, also by a page that is not modified
	}
	return s.put(&p.Pending, &k.row, k.waiting)
}

// changed records that the copy has the content after a change.
func (s *State) changed(c *resourcesync.Change, have *Resource) error {
	return s.exec("UPDATE resource SET datetime = ? WHERE uri = ?", nanos(have.DatetimeAfter(c.Datetime)), c.Resource.URI)
}

// doubtOf returns the doubt about the last change of a resource.
func doubtOf(deletion bool) Doubt {
	if deletion {
		return DoubtDeletion
	}
	return DoubtVersion
}

// ask makes p a question about any version of the resource.
func (p *Pending) ask(doubt Doubt, modified time.Time) {
	p.Doubt, p.Package = doubt, 0
	r := &p.Change.Resource
	*r = resourcesync.Resource{URI: r.URI, LastModified: modified, Type: r.Type, Encoding: r.Encoding, Links: r.Links}
}

// A knowledge is the recorded state of a resource.
type knowledge struct {
	have    Resource
	copied  bool
	row     row // the pending change
	waiting bool

	elsewhere time.Time // of the Resource Lists of another set that show it, or zero
	untimed   bool      // these lists have no time
}

func (s *State) known(uri string) (k knowledge, err error) {
	if k.have, k.copied, err = s.find(uri); err == nil {
		k.row, k.waiting, err = s.row(uri)
	}
	return k, err
}

// owner returns the set to which the resource belongs, with its list and baseline, if it is known.
func (k *knowledge) owner() row {
	if k.copied || !k.waiting {
		return row{set: k.have.Set, list: k.have.List, seen: k.have.Seen}
	}
	return k.row
}

// listed reports whether the last comparison of Resource Lists has found the resource in a set.
func (k *knowledge) listed(in *Set) bool {
	return k.copied && k.have.Set == in.URI && k.have.Seen == in.Baseline || k.waiting && k.row.set == in.URI && k.row.seen == in.Baseline
}

// judge judges a change by the times of the other changes of its resource, and by the at of the
// Resource Lists.
func (k *knowledge) judge(in *Set, p *Staged) verdict {
	compared := in.Baseline > 0 && (k.listed(in) || !k.copied && !k.waiting || k.waiting && k.row.isAbsence())
	t := p.Change.Datetime
	if t.IsZero() {
		owner := k.owner().set
		shared := p.Change.Type != resourcesync.Deleted && owner != "" && owner != in.URI // the other set can have a later change
		if !shared && (p.Age == AgeNew || p.Sure || !compared && !k.copied && !k.waiting) {
			return newer
		}
		return doubtful
	}
	last := latest(possible(k.have.Datetime, t, p.Date), possible(fromNanos(k.row.datetime), t, p.Date))
	switch {
	case t.After(p.Date) && !(p.Age == AgeNew && p.Change.Type == resourcesync.Deleted):
		return doubtful // the time is in the future, and so may be wrong; a new deletion has happened, regardless of its time
	case (compared && in.Base.IsZero() || k.untimed) && p.Age != AgeNew && !p.Sure && !(!last.IsZero() && t.After(last)):
		return doubtful // the Resource Lists have no time
	case compared && !in.Base.IsZero() && !t.After(in.Base) && !in.Base.Before(last):
		return k.shown(p, in.Base)
	case !t.After(k.elsewhere) && !k.elsewhere.Before(last):
		return k.shown(p, k.elsewhere)
	case t.Before(last) && p.Age == AgeNew:
		return doubtful // listed late, it can also have been made late
	case t.Before(last):
		return older
	case p.Age != AgeNew && t.Before(latest(k.have.Datetime, fromNanos(k.row.datetime))):
		return doubtful // the known change is after the answer: a clock was ahead, or a cache has sent an old document
	case p.Late && !k.copied && (!k.waiting || k.row.doubt != DoubtNone):
		return doubtful
	case p.Age == AgeUnknown && in.Known && !t.After(in.Cursor) && !k.copied && (!k.waiting || k.row.doubt != DoubtNone):
		return doubtful // a later change that was read before can have deleted the resource
	case p.Late && k.copied && !k.waiting && p.Change.Type != resourcesync.Deleted && k.have.requestedAfter(t):
		return doubtful // the copy can have a later version
	}
	return newer
}

// shown judges a change that Resource Lists as of at should show: it was listed then, unless it is near at, and the
// copy was requested after it. If it was not, the lists may describe the versions before and after it alike.
func (k *knowledge) shown(p *Staged, at time.Time) verdict {
	t := p.Change.Datetime
	if p.Age == AgeNew || !t.Before(at.Add(-MaxMargin)) || k.copied && !k.waiting && k.have.predates(p) {
		return doubtful
	}
	return older
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// shows reports whether the copy has the content after a change that is not older: it has the same
// hash, or is the content after this very change. A new entry with a coarse time can be another
// change.
func (k *knowledge) shows(p *Staged) bool {
	c := &p.Change
	if digest.Agree(k.have.Hashes, c.Resource.Hashes) {
		return true
	}
	return k.have.isAsOf(c) && (p.Age != AgeNew || Precision(c.Datetime) == 0) && k.have.match(c) == current
}

// hint records that an older deletion is listed of a resource without a copy. If the
// resource turns out to be gone, the deletion explains it.
func (s *State) hint(k *knowledge, deleted bool) error {
	if !deleted || k.copied || !k.waiting {
		return nil
	}
	_, err := s.doubt(k)
	return err
}

// doubt makes the pending change of a resource a question, unless it deletes. It is asked, even if a file of others has
// kept it from being copied.
func (s *State) doubt(k *knowledge) (bool, error) {
	if k.row.change == string(resourcesync.Deleted) || k.row.doubt == DoubtDeletion {
		return false, nil
	}
	return true, s.exec("UPDATE pending SET doubt = ?, package = 0, attempts = 0 WHERE seq = ?", DoubtDeletion, k.row.seq)
}

// askAgain repeats a question before the next run if it has been answered by 404 or 410: the
// resource may exist again.
func (s *State) askAgain(k *knowledge) (bool, error) {
	err := s.exec("UPDATE pending SET seq = (SELECT max(seq) + 1 FROM pending), later = 0 WHERE seq = ? AND gone > 0", k.row.seq)
	return s.conn.Changes() > 0, err
}

// distrust makes the next request for a resource ignore its Last-Modified, if an entry describes a
// version that differs from the copy. After a clock that was set back, a server answers 304 to the
// time of an older version.
func (s *State) distrust(k *knowledge, c *resourcesync.Change) error {
	if !k.copied || k.have.match(&resourcesync.Change{Resource: c.Resource}) != differs {
		return nil
	}
	return s.exec("UPDATE resource SET modified = '' WHERE uri = ?", c.Resource.URI)
}

// forgetValidators makes the next request for a resource transfer its content. A process may have
// stored a later version and ended before that was recorded.
func (s *State) forgetValidators(uri string) error {
	return s.exec("UPDATE resource SET etag = '', modified = '' WHERE uri = ?", uri)
}
