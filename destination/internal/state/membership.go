package state

import (
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync"
)

// A resource that several sets have belongs to one of them. The others are in the table also:
// when the first one deletes the resource, it belongs to another one, and stays.

// SetsAre sets the URIs of the current sets of the Source. A resource of any other set
// belongs to the next set that lists it.
func (s *State) SetsAre(uris []string) { s.sets = uris }

// share records that the set of p has a resource that belongs to another set, or no longer has it.
func (s *State) share(p *Pending, deleted bool) error {
	uri := p.Change.Resource.URI
	if deleted {
		return s.exec("DELETE FROM also WHERE uri = ? AND sets = ?", uri, p.Set)
	}
	return s.exec(`INSERT INTO also (uri, sets, list, seen, datetime) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT DO UPDATE SET list = iif(?3 = '', list, ?3), seen = max(seen, ?4), datetime = max(datetime, ?5)`,
		uri, p.Set, p.List, p.Seen, nanos(p.Change.Datetime))
}

// leave removes a resource from the set in, if other sets have it as well, and reports whether this
// was all that the deletion p means, and whether it has noted a question. The times of changes in
// other sets do not matter for that.
func (s *State) leave(in *Set, p *Staged, k knowledge) (over, asked bool, err error) {
	uri, own, others := p.Change.Resource.URI, false, time.Time{}
	err = s.query("SELECT sets, seen, datetime FROM also WHERE uri = ?", func(row *sqlite.Stmt) error {
		joined := fromNanos(row.ColumnInt64(2))
		if row.ColumnText(0) == in.URI {
			own, k = true, knowledge{have: Resource{Set: in.URI, Seen: row.ColumnInt64(1), Datetime: joined}, copied: true}
		} else if others = latest(others, joined); joined.IsZero() {
			others = maxTime
		}
		return nil
	}, uri)
	switch {
	case err != nil || !own && others.IsZero():
		return false, false, err
	case own:
		switch k.judge(in, p) {
		case newer:
			err = s.share(&Pending{Set: in.URI, Change: p.Change}, true)
		case doubtful:
			asked, err = true, s.question(uri)
		}
		return true, asked, err
	}
	if changed := latest(k.have.Datetime, fromNanos(k.row.datetime)); !changed.After(others) {
		k.have.Datetime, k.row.datetime = time.Time{}, 0 // another set has changed it
	}
	if k.have.Set != in.URI && k.row.set != in.URI {
		return false, false, nil
	}
	switch k.judge(in, p) {
	case newer:
		asked, err = s.inherit(uri)
	case doubtful:
		asked, err = s.cede(uri, k.owner(), k.have.Datetime)
	}
	return asked, asked, err
}

// cede makes a resource belong to another set that has it, because its set may have deleted it: its content does not
// tell whether that set still has it. It reports whether there is another set.
func (s *State) cede(uri string, owner row, changed time.Time) (bool, error) {
	if inherited, err := s.inherit(uri); !inherited || err != nil {
		return false, err
	}
	return true, s.share(&Pending{Set: owner.set, List: owner.list, Seen: owner.seen, Change: resourcesync.Change{Datetime: changed, Resource: resourcesync.Resource{URI: uri}}}, false)
}

// IsShared reports whether another set has a resource as well.
func (s *State) IsShared(uri string) (bool, error) {
	n, err := s.int("SELECT EXISTS (SELECT 1 FROM also WHERE uri = ?)", uri)
	return n > 0, err
}

// maxTime is later than all times.
var maxTime = time.Unix(1<<40, 0)

// join records that the set of p has a resource. If the resource belongs to another set, p becomes a
// change in that one, unless the Source no longer has that set, or it has deleted the
// resource. Then the resource belongs to the set of p.
func (s *State) join(p *Pending, k *knowledge) error {
	owner := k.owner()
	deletes := k.waiting && k.row.change == string(resourcesync.Deleted)
	switch {
	case owner.set == "" || owner.set == p.Set:
		return nil
	case deletes && k.row.set != p.Set, s.isGone(owner.set):
		k.have.Set, k.have.List, k.have.Seen = p.Set, p.List, p.Seen
		err := s.share(p, true)
		if err == nil {
			err = s.exec("UPDATE resource SET sets = ?, list = ?, seen = ? WHERE uri = ?", p.Set, p.List, p.Seen, p.Change.Resource.URI)
		}
		if err == nil && k.waiting {
			err = s.exec("UPDATE pending SET sets = ?, list = ?, seen = ? WHERE uri = ?", p.Set, p.List, p.Seen, p.Change.Resource.URI)
		}
		if err == nil && deletes {
			err = s.question(p.Change.Resource.URI)
		}
		if err == nil && k.waiting {
			k.row, _, err = s.row(p.Change.Resource.URI)
		}
		return err
	}
	err := s.share(p, false)
	if err == nil && k.waiting && k.row.doubt == DoubtDeletion {
		uri := p.Change.Resource.URI
		if _, err = s.cede(uri, owner, k.have.Datetime); err == nil {
			*k, err = s.known(uri)
		}
		owner = k.owner()
	}
	p.Set, p.List, p.Seen = owner.set, owner.list, owner.seen
	return err
}

// joinBy records that a change p in the set in says that the set has a resource, unless the set has
// deleted it since. The changes in other sets do not matter for that.
func (s *State) joinBy(in *Set, p *Staged, k *knowledge) error {
	owner := k.owner()
	if owner.set == "" || owner.set == in.URI {
		return nil
	}
	var own knowledge
	err := s.query("SELECT seen, datetime FROM also WHERE uri = ? AND sets = ?", func(row *sqlite.Stmt) error {
		own = knowledge{have: Resource{Set: in.URI, Seen: row.ColumnInt64(0), Datetime: fromNanos(row.ColumnInt64(1))}, copied: true}
		return nil
	}, p.Change.Resource.URI, in.URI)
	if err != nil {
		return err
	}
	if !own.copied && own.judge(in, p) == older {
		p.Set, p.List, p.Seen = owner.set, owner.list, owner.seen
		return nil
	}
	return s.join(&p.Pending, k)
}

// delete determines the effect of a deletion in the set of p on a resource that other sets can
// have. If it does not affect the copy, over is true. asked means that it is now a question.
func (s *State) delete(p *Pending, k *knowledge) (over, asked bool, err error) {
	owner := k.owner()
	switch {
	case owner.set == p.Set:
	case !s.isGone(owner.set):
		return true, false, s.share(p, true)
	default:
		err = s.share(p, true)
	}
	if err == nil {
		asked, err = s.inherit(p.Change.Resource.URI)
	}
	return asked, asked, err
}

// isGone reports whether the Source no longer has a set.
func (s *State) isGone(set string) bool { return s.sets != nil && !slices.Contains(s.sets, set) }

// question makes the pending change of a resource a question, and notes one if there is none: another
// set has deleted it.
func (s *State) question(uri string) error {
	before, waiting, err := s.row(uri)
	switch {
	case err != nil:
	case !waiting:
		err = s.exec(`INSERT INTO pending (uri, sets, list, seen, change, datetime, lastmod, length, hashes, type, encoding, links, doubt)
			SELECT uri, sets, list, seen, 'updated', 0, lastmod, ?, '', '', '', '', ? FROM resource WHERE uri = ?`, int64(unknownLength), DoubtDeletion, uri)
	case before.change == string(resourcesync.Deleted):
		if err = s.forgetValidators(uri); err == nil { // see put
			err = s.exec("UPDATE pending SET change = 'updated', datetime = 0, lastmod = 0, length = ?, hashes = '', doubt = ?, attempts = 0 WHERE uri = ?", int64(unknownLength), DoubtDeletion, uri)
		}
	default:
		err = s.exec("UPDATE pending SET doubt = ?1, package = 0, attempts = iif(doubt = ?1, attempts, 0) WHERE uri = ?2", DoubtDeletion, uri)
	}
	return err
}

// tables have resources that belong to a set.
var tables = [...]string{"resource", "pending"}

// inherit makes a resource belong to another set that has it, and reports whether there is one. The
// resource is asked, because that set may have deleted it in a way that documents do not show.
func (s *State) inherit(uri string) (bool, error) {
	n, err := s.int("SELECT count(*) FROM also WHERE uri = ?", uri)
	if n == 0 || err != nil {
		return false, err
	}
	if err := s.inheritAll("uri = ?", uri); err != nil {
		return false, err
	}
	if err := s.shareLess("uri = ? AND ", uri); err != nil {
		return false, err
	}
	return true, s.question(uri)
}

// Inherit makes the resources of a set that a baseline, complete up to at, has not seen belong
// to other sets that have them, and forgets its share of resources of other sets that the
// baseline has not seen.
func (s *State) Inherit(set string, baseline int64, at time.Time) error {
	args := unseenArgs(baseline, at)
	if err := s.exec("DELETE FROM also WHERE sets = ? AND "+unseen, append([]any{set}, args...)...); err != nil {
		return err
	}
	n, err := s.int("SELECT EXISTS (SELECT 1 FROM also)")
	if n == 0 || err != nil {
		return err
	}
	all := append([]any{set}, args...)
	if err := s.inheritIn("resource", "sets = ? AND "+unseen, all...); err != nil {
		return err
	}
	// A pending change goes where its copy goes. Without a copy, it goes if Forget would drop it.
	err = s.exec(`UPDATE pending SET (sets, list, seen) = (SELECT sets, list, seen FROM resource r WHERE r.uri = pending.uri)
		WHERE sets = ?1 AND EXISTS (SELECT 1 FROM resource r WHERE r.uri = pending.uri AND r.sets != ?1)`, set)
	if err == nil {
		err = s.inheritIn("pending", "sets = ? AND "+forgotten+" AND uri NOT IN (SELECT uri FROM resource)", append([]any{set}, forgottenArgs(baseline, at)...)...)
	}
	if err != nil {
		return err
	}
	return s.shareLess("")
}

// inheritAll makes the resources that a condition selects belong to the first of the other sets
// that have them. shareLess comes after it, because a resource can be in both tables.
func (s *State) inheritAll(condition string, args ...any) error {
	for _, table := range tables {
		if err := s.inheritIn(table, condition, args...); err != nil {
			return err
		}
	}
	return nil
}

// inheritIn is inheritAll in one of the tables.
func (s *State) inheritIn(table, condition string, args ...any) error {
	return s.exec("UPDATE "+table+" SET (sets, list, seen) = (SELECT sets, list, seen FROM also WHERE also.uri = "+table+`.uri ORDER BY sets LIMIT 1)
		WHERE `+condition+" AND uri IN (SELECT uri FROM also)", args...)
}

// shareLess removes other sets from the shares of resources that belong to them now, where
// a condition holds.
func (s *State) shareLess(condition string, args ...any) error {
	for _, table := range tables {
		if err := s.exec("DELETE FROM also WHERE "+condition+"EXISTS (SELECT 1 FROM "+table+" t WHERE t.uri = also.uri AND t.sets = also.sets)", args...); err != nil {
			return err
		}
	}
	return nil
}
