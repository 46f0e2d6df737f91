package state

import (
	"context"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"
)

// auditSchema has tables for the resources that an audit cannot judge until all lists have
// been read: members of the copy that it has passed without an entry, and URIs that the
// copy lacks. Temporary tables are neither logged nor synced.
const auditSchema = `
CREATE TEMP TABLE passed (uri TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TEMP TABLE missing (uri TEXT PRIMARY KEY) WITHOUT ROWID;
`

// auditBatch is the number of members that are read at a time.
const auditBatch = 500

// An Audit compares the entries of Resource Lists with the copy. Most lists are in the order of
// their URIs, so it reads the members in that order beside them. An entry out of this order
// costs additional statements.
type Audit struct {
	// Partial means that some changes could not be read, or that a cache has sent an old list of
	// them. Then an entry or a change is undecided if the copy does not show it, because a change that was
	// not read can have replaced it, or if the last Sync has not known a change of its resource.
	Partial bool

	s     *State
	next  []Member // read and not compared
	after string   // the URI of the last member that was read
	last  string   // the greatest URI that was compared
}

// A Comparison is the result of comparing a resource of the copy with the documents of
// the Source.
type Comparison int

// The results of a comparison. Extra means that the Source does not have the resource, Later that
// the copy is newer than the Resource Lists or rightly lacks the resource, and Repeated that
// another entry of the same resource has been compared. Undecided means that the next Sync requests
// the resource.
const (
	Same Comparison = iota + 1
	Missing
	Differs
	Extra
	Later
	Repeated
	Undecided
)

// A Member is a member of the copy with its URI.
type Member struct {
	URI string
	Resource
}

// Audit begins an audit. There is one at a time.
func (s *State) Audit() (*Audit, error) {
	err := s.exec("DELETE FROM temp.passed")
	if err == nil {
		err = s.exec("DELETE FROM temp.missing")
	}
	return &Audit{s: s}, err
}

// Compare compares an entry of a Resource List, and the staged changes of its resource, with the
// copy, and notes what the next Sync must repair. It returns the member of the copy, unless there
// is none or it has been returned before. A resource that its set has deleted after the list is
// not judged yet, because another set can have it.
func (a *Audit) Compare(p *Pending) (Comparison, *Member, error) {
	uri := p.Change.Resource.URI
	m, repeated, err := a.find(uri)
	if err != nil {
		return 0, nil, err
	}
	staged, err := a.s.StagedOf(uri)
	if err != nil {
		return 0, nil, err
	}
	if w := changeIn(p.Set, staged); w != nil && w.isDeletion() && w.isAfter(p.At) {
		if m != nil && !repeated {
			err = a.s.exec("INSERT OR IGNORE INTO temp.passed (uri) VALUES (?)", uri)
		}
		return Later, nil, err
	}
	var result Comparison
	switch last := lastChange(p.Set, staged); {
	case !a.Partial:
		result, err = a.judge(p.At, p, last, m)
	case m != nil && m.match(&p.Change) != differs && (last == nil || last.Age == AgeKnown):
		result = Same
	default:
		result = Undecided
	}
	if err == nil && m == nil && (result == Missing || result == Undecided) {
		err = a.s.exec("INSERT OR IGNORE INTO temp.missing (uri) VALUES (?)", uri)
		repeated = a.s.conn.Changes() == 0
	}
	if repeated {
		return Repeated, nil, err
	}
	return result, m, err
}

// Unlisted compares a member of the copy that is in no Resource List, or only in Resource
// Lists of sets that have deleted it since. at has the times of the lists of the sets.
func (a *Audit) Unlisted(m *Member, at map[string]time.Time) (Comparison, error) {
	staged, err := a.s.StagedOf(m.URI)
	if err != nil {
		return 0, err
	}
	w := lastVersion(staged, at)
	if w == nil {
		w = changeIn(m.Set, staged)
	}
	switch {
	case w == nil:
		return a.judge(at[m.Set], nil, nil, m)
	case a.Partial && (w.isDeletion() || !m.showsAfter(w)):
		return Undecided, nil
	}
	return a.judge(at[w.Set], nil, w, m)
}

// Staged calls f for each resource with staged changes that neither the copy has nor a Resource
// List, with its comparison. at has the times of the lists of the sets.
func (a *Audit) Staged(ctx context.Context, at map[string]time.Time, f func(uri string, c Comparison)) error {
	for after := int64(0); ; {
		changes, err := a.s.StagedAfter(after, auditBatch)
		if err != nil || len(changes) == 0 {
			return err
		}
		after = changes[len(changes)-1].N
		err = a.s.Write(ctx, func() error {
			for i := range changes {
				if err := a.change(&changes[i], at, f); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// change calls f for the resource of a staged change, unless another change of it comes first.
func (a *Audit) change(c *Staged, at map[string]time.Time, f func(uri string, c Comparison)) error {
	uri := c.Change.Resource.URI
	n, err := a.s.int("SELECT EXISTS (SELECT 1 FROM resource WHERE uri = ?1) OR EXISTS (SELECT 1 FROM temp.missing WHERE uri = ?1)", uri)
	if n > 0 || err != nil {
		return err
	}
	if m, err := a.renamed(uri); err != nil {
		return err
	} else if m != nil {
		return a.s.exec("INSERT OR IGNORE INTO temp.passed (uri) VALUES (?)", uri)
	}
	staged, err := a.s.StagedOf(uri)
	if err != nil || staged[0].N != c.N {
		return err
	}
	w := lastVersion(staged, at)
	if w == nil {
		return nil // all sets that had it have deleted it
	}
	if a.Partial {
		f(uri, Undecided)
		return nil
	}
	result, err := a.judge(at[w.Set], nil, w, nil)
	if err == nil {
		f(uri, result)
	}
	return err
}

// find returns the member for uri, or nil, and whether an entry for it has been compared.
func (a *Audit) find(uri string) (m *Member, repeated bool, err error) {
	if uri <= a.last {
		have, known, err := a.s.Resource(uri)
		if err != nil {
			return nil, false, err
		}
		if !known {
			m, err := a.renamed(uri)
			return m, false, err
		}
		err = a.s.exec("DELETE FROM temp.passed WHERE uri = ?", uri)
		return &Member{uri, have}, a.s.conn.Changes() == 0, err
	}
	a.last = uri
	for {
		if err := a.read(); err != nil {
			return nil, false, err
		}
		if len(a.next) == 0 || a.next[0].URI > uri {
			m, err := a.renamed(uri)
			return m, false, err
		}
		m := &a.next[0]
		a.next = a.next[1:]
		if m.URI == uri {
			return m, false, nil
		}
		if err := a.s.exec("INSERT INTO temp.passed (uri) VALUES (?)", m.URI); err != nil {
			return nil, false, err
		}
	}
}

// renamed returns the member that the copy has under a former URI, or nil. It gets this one, as by a Sync.
func (a *Audit) renamed(uri string) (*Member, error) {
	if len(a.s.moves) == 0 {
		return nil, nil
	}
	former, _, known, err := a.s.moved(uri, a.s.moves)
	if err != nil || !known {
		return nil, err
	}
	have, _, err := a.s.find(uri)
	if err != nil {
		return nil, err
	}
	a.next = slices.DeleteFunc(a.next, func(m Member) bool { return m.URI == former })
	a.after = max(a.after, uri) // all before have been read
	return &Member{uri, have}, nil
}

// read reads the next members, unless there are some.
func (a *Audit) read() (err error) {
	if len(a.next) == 0 {
		a.next, err = a.s.members("FROM resource r WHERE uri > ? ORDER BY uri LIMIT +?", a.after, auditBatch)
	}
	if len(a.next) > 0 {
		a.after = a.next[len(a.next)-1].URI
	}
	return err
}

func (s *State) members(which string, args ...any) (members []Member, err error) {
	err = s.query("SELECT "+resourceColumns+", r.uri "+which, func(row *sqlite.Stmt) error {
		members = append(members, Member{row.ColumnText(13), readResource(row, 0)})
		return nil
	}, args...)
	return members, err
}

// Rest calls f for the members of the copy for which no entry has been compared, a few at a time.
func (a *Audit) Rest(ctx context.Context, f func([]Member) error) error {
	for after := ""; ; {
		members, err := a.s.members("FROM temp.passed p JOIN resource r ON r.uri = p.uri WHERE p.uri > ? ORDER BY p.uri LIMIT +?", after, auditBatch)
		if err != nil {
			return err
		}
		if len(members) == 0 {
			break
		}
		if err := each(ctx, members, f); err != nil {
			return err
		}
		after = members[len(members)-1].URI
	}
	for {
		if err := a.read(); err != nil || len(a.next) == 0 {
			return err
		}
		members := a.next
		a.next = nil
		if err := each(ctx, members, f); err != nil {
			return err
		}
	}
}

func each(ctx context.Context, members []Member, f func([]Member) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return f(members)
}
