package state

import (
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
)

// A Pending change has been noted and not been applied.
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

	// Doubt means that the documents do not say whether the resource still is there, or in
	// which version: answers of 404 or 410 delete it. Gone is the time of the first one.
	Doubt Doubt
	Gone  time.Time

	Unverifiable bool // Note: neither the entry nor a validator can show a change; not stored

	// Have is the copy that the change concerns, if Known. Pending and PendingIn set them.
	Have  Resource
	Known bool
}

// A Doubt is why a pending change is a question. If a document says that the resource is deleted, it
// is after one answer of 404 or 410; the next runs ask again. Otherwise it needs two.
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
	if err := s.join(p, &k); err != nil {
		return false, err
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
		if k.have.match(c) != differs || !isAhead(p, k.have.Datetime) {
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
	}
	return s.put(p, &k.row, k.waiting)
}

// isAhead reports whether a Resource List can show a later version than that after a change, although its at is before
// the change: its snapshot is later than at, by MaxMargin at most or as its lastmod shows.
func isAhead(p *Pending, changed time.Time) bool {
	return !changed.After(p.At.Add(MaxMargin)) || p.Change.Resource.LastModified.After(changed)
}

// A row is what tells one pending change of a resource from another, as it is stored, and to
// which list it belongs.
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

// asks reports whether r is a question because of a change at the time of c.
func (r *row) asks(c *resourcesync.Change) bool {
	return r.doubt != DoubtNone && !c.Datetime.IsZero() && r.datetime == nanos(c.Datetime)
}

// describes reports whether r is for the version of a change.
func (r *row) describes(c *resourcesync.Change) bool {
	if h := hashes(c.Resource.Hashes); h != "" || r.hashes != "" {
		return h == r.hashes
	}
	n := length(c.Resource.Length)
	return r.lastmod != 0 && r.lastmod == nanos(c.Resource.LastModified) && (n == r.length || n == unknownLength || r.length == unknownLength)
}

// row returns the row of the pending change of uri.
func (s *State) row(uri string) (r row, ok bool, err error) {
	err = s.query("SELECT seq, seen, sets, list, change, hashes, datetime, lastmod, length, later, doubt FROM pending WHERE uri = ?", func(c *sqlite.Stmt) error {
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

// Unchanged records that the resources of a page of a set are still listed, because the page is not
// modified. The copy can have others of the page that it lists no more. Those whose entries cannot
// show a change are noted. It returns the number of resources, of those that are noted, and of
// these that have no validators either.
func (s *State) Unchanged(set, list string, baseline int64) (n, noted, unverifiable int64, err error) {
	seen, err := s.int("SELECT seen FROM document WHERE uri = ? AND sets = ?", list, set)
	if err != nil {
		return 0, 0, 0, err
	}
	if err := s.exec("UPDATE resource SET seen = ? WHERE list = ? AND sets = ? AND seen >= ?", baseline, list, set, seen); err != nil {
		return 0, 0, 0, err
	}
	n = int64(s.conn.Changes())
	if err := s.exec("UPDATE also SET seen = ? WHERE list = ? AND sets = ? AND seen >= ?", baseline, list, set, seen); err != nil {
		return 0, 0, 0, err
	}
	if err := s.exec("UPDATE pending SET seen = ? WHERE list = ? AND sets = ? AND seen > 0 AND seen >= ?", baseline, list, set, seen); err != nil {
		return 0, 0, 0, err
	}
	if err := s.exec("UPDATE document SET seen = ? WHERE uri = ? AND sets = ?", baseline, list, set); err != nil {
		return 0, 0, 0, err
	}
	err = s.query(`INSERT OR IGNORE INTO pending (uri, sets, list, seen, change, datetime, lastmod, length, hashes, type, encoding, links)
		SELECT uri, sets, list, seen, '', 0, lastmod, length, '', '', '', '' FROM resource WHERE list = ?1 AND sets = ?2 AND seen = ?3 AND vague = 1
		RETURNING (SELECT etag = '' AND modified = '' FROM resource r WHERE r.uri = pending.uri)`, func(row *sqlite.Stmt) error {
		noted++
		unverifiable += row.ColumnInt64(0)
		return nil
	}, list, set, baseline)
	return n, noted, unverifiable, err
}

// unseen is the condition of a resource that a baseline, complete up to a time, has not seen.
// Resources that changed after that time are not listed yet, unless their time is in the future, and
// so is wrong.
const unseen = "seen < ? AND (? = 0 OR datetime <= ? OR datetime > ?)"

func unseenArgs(baseline int64, at time.Time) []any {
	return []any{baseline, nanos(at), nanos(at), nanos(time.Now())}
}

// Missing returns the number of resources of a set, and of those that a baseline, complete up
// to at, has not seen. If at is zero, it is not known.
func (s *State) Missing(set string, baseline int64, at time.Time) (count, missing int64, err error) {
	err = s.query("SELECT count(*), coalesce(sum("+unseen+"), 0) FROM resource WHERE sets = ?", func(row *sqlite.Stmt) error {
		count, missing = row.ColumnInt64(0), row.ColumnInt64(1)
		return nil
	}, append(unseenArgs(baseline, at), set)...)
	return count, missing, err
}

// NoteMissing notes the deletion of the resources that Missing counts.
func (s *State) NoteMissing(set string, baseline int64, at time.Time) error {
	return s.exec(`INSERT OR REPLACE INTO pending (uri, sets, list, seen, change, datetime, lastmod, length, hashes, type, encoding, links)
		SELECT uri, sets, '', 0, 'deleted', 0, 0, ?, '', '', '', '' FROM resource WHERE sets = ? AND `+unseen, append([]any{int64(unknownLength), set}, unseenArgs(baseline, at)...)...)
}

// AskUnlisted notes questions about the resources of a set that a baseline, complete up to at, has not seen, and that
// changed after at and not after until, which is zero if it is not known: the changes that can be read begin then.
func (s *State) AskUnlisted(set string, baseline int64, at, until time.Time) (noted int64, err error) {
	if at.IsZero() {
		return 0, nil
	}
	err = s.exec(`INSERT OR IGNORE INTO pending (uri, sets, list, seen, change, datetime, lastmod, length, hashes, type, encoding, links, doubt)
		SELECT uri, sets, list, seen, 'updated', 0, lastmod, ?1, '', '', '', '', ?2 FROM resource
		WHERE sets = ?3 AND seen < ?4 AND datetime > ?5 AND (?6 = 0 OR datetime <= ?6)`,
		int64(unknownLength), DoubtDeletion, set, baseline, nanos(at), nanos(until))
	return int64(s.conn.Changes()), err
}

// AskSuperseded makes the resources of a set questions that a baseline has seen and the last one has not.
func (s *State) AskSuperseded(set string, first, last int64) error {
	for _, table := range tables {
		for after := ""; ; {
			var uris []string
			err := s.query("SELECT uri FROM "+table+" WHERE sets = ? AND seen >= ? AND seen < ? AND uri > ? ORDER BY uri LIMIT +?", func(row *sqlite.Stmt) error {
				uris = append(uris, row.ColumnText(0))
				return nil
			}, set, first, last, after, auditBatch)
			if err != nil {
				return err
			}
			if len(uris) == 0 {
				break
			}
			for _, uri := range uris {
				if err := s.question(uri); err != nil {
					return err
				}
			}
			after = uris[len(uris)-1]
		}
	}
	return nil
}

// forgotten is the condition of a noted resource that a baseline, complete up to a time, has listed no more.
// Those that have been asked once are asked again.
const forgotten = "seen < ? AND change != 'deleted' AND gone = 0 AND (seen > 0 OR datetime <= ? OR datetime > ?)"

func forgottenArgs(baseline int64, at time.Time) []any {
	return []any{baseline, nanos(at), nanos(time.Now())}
}

// Forget drops the noted resources of a set that a baseline, complete up to at, has listed no more.
func (s *State) Forget(set string, baseline int64, at time.Time) error {
	return s.exec("DELETE FROM pending WHERE sets = ? AND "+forgotten, append([]any{set}, forgottenArgs(baseline, at)...)...)
}

// Damaged notes that the content of a member of the copy has to be fetched again. listed is its entry
// in a Resource List, or nil. Other content than that of the copy is right, too, unless the entry has a
// hash: without one, it does not show all changes.
func (s *State) Damaged(m *Member, listed *resourcesync.Resource) error {
	err := s.exec("UPDATE resource SET etag = '', modified = '', hashes = '', lastmod = 0 WHERE uri = ?", m.URI)
	if err != nil {
		return err
	}
	if _, waiting, err := s.row(m.URI); waiting || err != nil {
		return err
	}
	r := resourcesync.Resource{URI: m.URI, LastModified: m.LastMod, Length: m.Length}
	if listed != nil && fetch.Agree(m.Hashes, listed.Hashes) {
		r.Hashes = listed.Hashes
	}
	_, err = s.put(&Pending{Set: m.Set, List: m.List, Seen: m.Seen, Change: resourcesync.Change{Type: resourcesync.Updated, Datetime: m.Datetime, Resource: r}}, &row{}, false)
	return err
}

// LastPending returns the position of the last pending change, or 0.
func (s *State) LastPending() (int64, error) {
	return s.int("SELECT coalesce(max(seq), 0) FROM pending")
}

// Pending returns up to limit pending changes after a position, up to the position last, in
// order, without those that must wait.
func (s *State) Pending(after, last int64, limit int) ([]Pending, error) {
	return s.pending("WHERE seq > ? AND seq <= ? AND "+due+" ORDER BY seq LIMIT +?", after, last, nanos(time.Now()), limit)
}

func (s *State) pending(which string, args ...any) ([]Pending, error) {
	var out []Pending
	err := s.query(`SELECT seq, p.uri, p.sets, p.list, p.seen, change, p.datetime, p.lastmod, p.length, p.hashes, type, encoding, links, attempts, package, member, doubt, gone, r.uri IS NOT NULL, `+resourceColumns+`
		FROM pending p LEFT JOIN resource r ON r.uri = p.uri `+which, func(row *sqlite.Stmt) error {
		p := Pending{
			Seq: row.ColumnInt64(0), Set: row.ColumnText(2), List: row.ColumnText(3), Seen: row.ColumnInt64(4), Attempts: row.ColumnInt64(13),
			Package: row.ColumnInt64(14), Member: row.ColumnText(15),
		}
		p.Change = resourcesync.Change{
			Type: resourcesync.ChangeType(row.ColumnText(5)), Datetime: fromNanos(row.ColumnInt64(6)),
			Resource: resourcesync.Resource{
				URI: row.ColumnText(1), LastModified: fromNanos(row.ColumnInt64(7)), Length: toLength(row.ColumnInt64(8)),
				Type: row.ColumnText(10), Encoding: row.ColumnText(11),
			},
		}
		p.Change.Resource.Hashes, _ = resourcesync.AppendHashes(nil, row.ColumnText(9))
		p.Doubt, p.Gone = Doubt(row.ColumnInt64(16)), fromNanos(row.ColumnInt64(17))
		if p.Known = row.ColumnBool(18); p.Known {
			p.Have = readResource(row, 19)
		}
		var err error
		p.Change.Resource.Links, err = decodeLinks(row.ColumnText(12))
		out = append(out, p)
		return err
	}, args...)
	return out, err
}

// Resumable yields the URIs whose downloads can be continued: those of pending changes, and of
// the packages that have their content.
func (s *State) Resumable() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		stopped := errors.New("stopped")
		err := s.query(`SELECT uri FROM pending WHERE change != 'deleted' UNION ALL
			SELECT uri FROM package WHERE id IN (SELECT package FROM pending WHERE package > 0)`, func(row *sqlite.Stmt) error {
			if !yield(row.ColumnText(0), nil) {
				return stopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, stopped) {
			yield("", err)
		}
	}
}

// HasPending reports whether a set has a pending change of a URI with a prefix.
func (s *State) HasPending(set, prefix string) (bool, error) {
	n, err := s.int("SELECT count(*) FROM (SELECT 1 FROM pending WHERE uri >= ?1 AND uri < ?1 || char(0x10ffff) AND sets = ?2 LIMIT 1)", prefix, set)
	return n > 0, err
}

// PendingCount returns the number of pending changes, without deleted resources that are only asked
// again.
func (s *State) PendingCount() (int64, error) {
	return s.int("SELECT count(*) FROM pending WHERE gone = 0 OR doubt != ?", DoubtDeletion)
}

// Failed records that a change could not be applied. It stays pending, behind all others, so
// that it never keeps them from being applied. Its content is requested alone from now on. gone is
// the time of the first of the last answers of 404 or 410 to a question, or zero.
func (s *State) Failed(seq int64, failure error, gone time.Time) error {
	return s.exec("UPDATE pending SET attempts = attempts + 1, error = ?, package = 0, later = 0, gone = ?, seq = (SELECT max(seq) + 1 FROM pending) WHERE seq = ?", failure.Error(), nanos(gone), seq)
}

// Reask makes a question whose answer was another version than that of the pending change one for any
// version.
func (s *State) Reask(seq int64) error {
	return s.exec("UPDATE pending SET lastmod = 0, length = ?, hashes = '' WHERE seq = ?", int64(unknownLength), seq)
}

// Ask records that a question has deleted a resource, and that the next runs ask again.
func (s *State) Ask(seq int64, gone time.Time) error {
	return s.exec("UPDATE pending SET attempts = 0, error = '', package = 0, later = 0, gone = ? WHERE seq = ?", nanos(gone), seq)
}

// Done removes pending changes.
func (s *State) Done(seqs []int64) error {
	if len(seqs) == 0 {
		return nil
	}
	text, err := json.Marshal(seqs)
	if err != nil {
		return err
	}
	return s.exec("DELETE FROM pending WHERE seq IN (SELECT value FROM json_each(?))", string(text))
}

// A link is a stored resourcesync.Link.
type link struct {
	Rel, Href, Type, Encoding, Hashes string
	Length, Modified                  int64
	Pri                               int
}

func stored(links []resourcesync.Link) []link {
	out := make([]link, len(links))
	for i, l := range links {
		out[i] = link{l.Rel, l.Href, l.Type, l.Encoding, hashes(l.Hashes), length(l.Length), nanos(l.Modified), l.Pri}
	}
	return out
}

func fromStored(links []link) []resourcesync.Link {
	out := make([]resourcesync.Link, len(links))
	for i, l := range links {
		out[i] = resourcesync.Link{Rel: l.Rel, Href: l.Href, Type: l.Type, Encoding: l.Encoding, Length: toLength(l.Length), Modified: fromNanos(l.Modified), Pri: l.Pri}
		out[i].Hashes, _ = resourcesync.AppendHashes(nil, l.Hashes)
	}
	return out
}

func length(l resourcesync.Length) int64 {
	if n, known := l.Bytes(); known {
		return n
	}
	return unknownLength
}

func toLength(n int64) resourcesync.Length {
	if n == unknownLength {
		return resourcesync.Length{}
	}
	return resourcesync.Bytes(n)
}

func hashes(h []resourcesync.Hash) string {
	parts := make([]string, len(h))
	for i := range h {
		parts[i] = h[i].String()
	}
	return strings.Join(parts, " ")
}
