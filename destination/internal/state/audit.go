package state

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync"
)

// auditSchema is that of the resources that an audit cannot judge until all lists have been
// read: members of the copy that it has passed without an entry, and URIs that the copy lacks.
// Temporary tables are neither logged nor synced.
const auditSchema = `
CREATE TEMP TABLE passed (uri TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TEMP TABLE missing (uri TEXT PRIMARY KEY) WITHOUT ROWID;
`

// auditBatch is the number of members that are read at a time.
const auditBatch = 500

// An Audit compares the entries of Resource Lists with the copy. Most lists are in the order of
// their URIs, so it reads the members in that order beside them. An entry out of this order
// costs statements of its own.
type Audit struct {
	s     *State
	next  []Member // read and not compared
	after string   // the URI of the last member that was read
	last  string   // the greatest URI that was compared
}

// A Comparison is how a member of the copy compares with its entry.
type Comparison int

// The results of Compare. Later means that the copy shows a change after the list, and Repeated
// that another entry of the same resource has been compared.
const (
	Same Comparison = iota + 1
	Missing
	Differs
	Later
	Repeated
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

// Compare compares an entry of a Resource List with the copy, and notes it if it is missing or
// differs. It returns the member of the copy, unless there is none or it has been returned
// before.
func (a *Audit) Compare(p *Pending) (Comparison, *Member, error) {
	c := &p.Change
	m, repeated, err := a.find(c.Resource.URI)
	if err != nil {
		return 0, nil, err
	}
	result := Differs
	switch {
	case m == nil:
		result, c.Type = Missing, resourcesync.Created
		if err = a.s.exec("INSERT OR IGNORE INTO temp.missing (uri) VALUES (?)", c.Resource.URI); err == nil {
			repeated = a.s.conn.Changes() == 0
			_, err = a.s.Note(p)
		}
	case m.match(c) != differs:
		result = Same
	case !p.At.IsZero() && m.Datetime.After(p.At):
		result = Later
	default:
		c.Type = resourcesync.Updated
		_, err = a.s.Note(p)
	}
	if repeated {
		return Repeated, nil, err
	}
	return result, m, err
}

// find returns the member for uri, or nil, and whether an entry for it has been compared.
func (a *Audit) find(uri string) (m *Member, repeated bool, err error) {
	if uri <= a.last {
		have, known, err := a.s.Resource(uri)
		if err != nil || !known {
			return nil, false, err
		}
		err = a.s.exec("DELETE FROM temp.passed WHERE uri = ?", uri)
		return &Member{uri, have}, a.s.conn.Changes() == 0, err
	}
	a.last = uri
	for {
		if err := a.read(); err != nil || len(a.next) == 0 || a.next[0].URI > uri {
			return nil, false, err
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

// Unlisted calls f for the members of the copy for which no entry has been compared, a few at a
// time. The audit ends with it.
func (a *Audit) Unlisted(ctx context.Context, f func([]Member) error) error {
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
