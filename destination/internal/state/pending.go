package state

import (
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/digest"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
)

// A Pending change has been noted but not applied.
type Pending struct {
	Seq      int64
	Set      string // the URI of the set
	List     string // the URI of the Resource List page, or ""
	Seen     int64  // the baseline that has noted it, or 0
	Attempts int64
	At       time.Time // of the Resource List; not stored
	New      bool      // Note: the copy does not have the resource; not stored
	Change   resourcesync.Change

	Package int64  // the ID of a package that has the content, or 0
	Member  string // its path there

	// Doubt means that the documents do not say whether the resource still exists, or in
	// which version: answers of 404 or 410 delete it. Gone is the time of the first one.
	Doubt Doubt
	Gone  time.Time

	Unverifiable bool // Note: neither the entry nor a validator can show a change; not stored

	// Have is the copy that the change concerns, if Known. Pending and PendingIn set them.
	Have  Resource
	Known bool
}

// A Doubt is the reason why a pending change is a question: the documents do not decide it, so the
// resource is requested. If a document says that the resource is deleted, one answer of 404 or 410
// confirms it, and the next runs ask again. Otherwise, it takes two answers.
type Doubt int64

// The doubts about a change.
const (
	DoubtNone Doubt = iota
	DoubtVersion
	DoubtDeletion
)

// A Resource is a member of the copy.
type Resource struct {
	Path       string
	Set        string
	List       string
	Seen       int64
	Datetime   time.Time
	LastMod    time.Time
	Length     resourcesync.Length // as its entry says
	Size       int64
	Hashes     []resourcesync.Hash
	Validators fetch.Validators
	Asked      time.Time // the Date of the answer to the last request for it
	Vague      bool      // its entry cannot show a change after Asked
}

// Note notes an entry of a Resource List, unless the copy shows it, it is noted already, or a
// later change is known.
func (s *State) Note(p *Pending) (noted bool, err error) {
	c := &p.Change
	k, err := s.known(c.Resource.URI)
	if err != nil {
		return false, err
	}
	p.New = !k.copied
	other := k.waiting && k.row.set != p.Set
	if err := s.join(p, &k); err != nil {
		return false, err
	}
	if other && k.row.isUndated() && !k.row.describes(c) { // nothing says which version is the later one
		p.ask(DoubtVersion, time.Time{})
	}
	if k.copied {
		err := s.exec("UPDATE resource SET seen = ?, list = ?, sets = ?, vague = ? WHERE uri = ?", p.Seen, p.List, p.Set, IsVague(&c.Resource, k.have.Asked), c.Resource.URI)
		if err != nil {
			return false, err
		}
	}
	switch now := time.Now(); {
	case p.At.IsZero():
	case k.waiting && possible(fromNanos(k.row.datetime), p.At, now).After(p.At):
		doubt := k.row.doubt
		if !k.row.describes(c) && isAhead(p, fromNanos(k.row.datetime)) {
			doubt = max(doubt, DoubtVersion)
		}
		return false, s.exec("UPDATE pending SET seen = ?1, list = ?2, sets = ?3, doubt = ?4, attempts = iif(doubt < ?4, 0, attempts) WHERE uri = ?5", p.Seen, p.List, p.Set, doubt, c.Resource.URI)
	case possible(k.have.Datetime, p.At, now).After(p.At):
		if k.have.match(c) == current || !isAhead(p, k.have.Datetime) {
			return false, nil
		}
		if err := s.distrust(&k, c); err != nil {
			return false, err
		}
		p.ask(DoubtVersion, time.Time{})
		return s.put(p, &k.row, k.waiting)
	}
	if k.copied {
		switch k.have.match(c) {
		case current:
			if !k.waiting {
				return false, nil
			} // otherwise, what is noted is out of date
		case unsure:
			p.Unverifiable = k.have.Validators == (fetch.Validators{})
		}
		if t := k.have.Datetime; !t.IsZero() && t.After(p.At.Add(-MaxMargin)) && !c.Resource.LastModified.After(t) {
			p.Package = 0 // it can have an earlier version than the copy: a dump can lag behind its at
		}
	}
	return s.put(p, &k.row, k.waiting)
}

// isAhead reports whether a Resource List can show a later version than the one after a change,
// although its at is before the change: its snapshot is later than at, by MaxMargin at most or as
// its lastmod shows.
func isAhead(p *Pending, changed time.Time) bool {
	return !changed.After(p.At.Add(MaxMargin)) || p.Change.Resource.LastModified.After(changed)
}

// A row has the stored columns that distinguish pending changes of a resource, and the list
// that the change belongs to.
type row struct {
	seq, seen                 int64
	set, list                 string
	change, hashes            string
	datetime, lastmod, length int64
	later                     int64
	doubt                     Doubt
}

// isAbsence reports whether r is a deletion because Resource Lists do not list the resource.
func (r *row) isAbsence() bool {
	return r.change == string(resourcesync.Deleted) && r.datetime == 0 && r.list == ""
}

// isUndated reports whether r is a version from a document with changes, which states no time of it.
func (r *row) isUndated() bool {
	return r.change != string(resourcesync.Deleted) && r.doubt == DoubtNone && r.datetime == 0 && r.list == ""
}

// asks reports whether r is a question because of a change at the time of c.
func (r *row) asks(c *resourcesync.Change) bool {
	return r.doubt != DoubtNone && !c.Datetime.IsZero() && r.datetime == nanos(c.Datetime)
}

// describes reports whether r is for the version of a change.
func (r *row) describes(c *resourcesync.Change) bool {
	if r.change == string(resourcesync.Deleted) {
		return false
	}
	if h := hashes(c.Resource.Hashes); h != "" || r.hashes != "" {
		return h == r.hashes
	}
	n := length(c.Resource.Length)
	return r.lastmod != 0 && r.lastmod == nanos(c.Resource.LastModified) && (n == r.length || n == unknownLength || r.length == unknownLength)
}

// row returns the row of the pending change of uri. A question that is only asked again later does
// not delay a new change.
func (s *State) row(uri string) (r row, ok bool, err error) {
	err = s.query("SELECT seq, seen, sets, list, change, hashes, datetime, lastmod, length, iif("+unsettled+", later, 0), doubt FROM pending WHERE uri = ?", func(c *sqlite.Stmt) error {
		r = row{c.ColumnInt64(0), c.ColumnInt64(1), c.ColumnText(2), c.ColumnText(3), c.ColumnText(4), c.ColumnText(5), c.ColumnInt64(6), c.ColumnInt64(7), c.ColumnInt64(8), c.ColumnInt64(9), Doubt(c.ColumnInt64(10))}
		ok = true
		return nil
	}, uri)
	return r, ok, err
}

// put replaces the pending change of a resource, whose row is before if there is one. If it is
// the same, it keeps its place and its attempts. Otherwise the content is stored again: a process may
// have stored what was noted, and ended before that was recorded.
func (s *State) put(p *Pending, before *row, waiting bool) (changed bool, err error) {
	r := &p.Change.Resource
	if p.Doubt != DoubtNone {
		p.Package = 0 // only the server can answer
	}
	now := row{before.seq, before.seen, before.set, before.list, string(p.Change.Type), hashes(r.Hashes), nanos(p.Change.Datetime), nanos(r.LastModified), length(r.Length), before.later, p.Doubt}
	if waiting && now == *before {
		err := s.exec("UPDATE pending SET sets = ?, list = ?, seen = ? WHERE seq = ?", p.Set, p.List, p.Seen, before.seq)
		if err == nil && p.Package > 0 {
			err = s.exec("UPDATE pending SET package = ?, member = ? WHERE seq = ?", p.Package, p.Member, before.seq)
		}
		return false, err
	}
	links, err := encodeLinks(r.Links)
	if err == nil && waiting {
		err = s.forgetValidators(r.URI)
	}
	if err != nil {
		return false, err
	}
	return true, s.exec(`INSERT OR REPLACE INTO pending (uri, sets, list, seen, change, datetime, lastmod, length, hashes, type, encoding, links, package, member, later, doubt)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.URI, p.Set, p.List, p.Seen, now.change, now.datetime, now.lastmod, now.length, now.hashes, r.Type, r.Encoding, links, p.Package, p.Member, now.later, p.Doubt)
}

// Damaged notes that the content of a member of the copy has to be fetched again. listed is its entry
// in a Resource List, or nil. Content that differs from the copy is right, too, unless the
// entry has a hash: without one, it does not show all changes.
func (s *State) Damaged(m *Member, listed *resourcesync.Resource) error {
	err := s.exec("UPDATE resource SET etag = '', modified = '', hashes = '', lastmod = 0 WHERE uri = ?", m.URI)
	if err != nil {
		return err
	}
	if _, waiting, err := s.row(m.URI); waiting || err != nil {
		return err
	}
	r := resourcesync.Resource{URI: m.URI, LastModified: m.LastMod, Length: m.Length}
	if listed != nil && digest.Agree(m.Hashes, listed.Hashes) {
		r.Hashes = listed.Hashes
	}
	_, err = s.put(&Pending{Set: m.Set, List: m.List, Seen: m.Seen, Change: resourcesync.Change{Type: resourcesync.Updated, Datetime: m.Datetime, Resource: r}}, &row{}, false)
	return err
}
