package state

import (
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/digest"
)

// A Package is a package of a dump that has the content of pending changes.
type Package struct {
	ID       int64
	URI      string
	Length   resourcesync.Length // as the dump says
	Entries  int64               // bitstreams, as the manifest says
	Baseline bool                // of a Resource Dump: its bitstreams have no order
	At       time.Time           // as of when it has its contents, if that is known
}

// In records that the content of p is the member of a package, if there is a package and the
// entry of its manifest has the path of a member, and counts it.
func (p *Pending) In(in *Package, path string) {
	if in == nil || path == "" {
		return
	}
	in.Entries++
	if p.Change.Type != resourcesync.Deleted {
		p.Package, p.Member = in.ID, path
	}
}

// SavePackage stores a package, and sets its ID, which differs from the IDs of earlier ones,
// because these may be open.
func (s *State) SavePackage(p *Package) error {
	return s.query(`INSERT INTO package (id, uri, length, entries, baseline, at) VALUES (1 + max(?5, (SELECT coalesce(max(id), 0) FROM package)), ?1, ?2, ?3, ?4, ?6)
		ON CONFLICT (uri) DO UPDATE SET length = ?2, entries = ?3, baseline = ?4, at = ?6 RETURNING id`, func(row *sqlite.Stmt) error {
		p.ID = row.ColumnInt64(0)
		s.packages = max(s.packages, p.ID)
		return nil
	}, p.URI, length(p.Length), p.Entries, p.Baseline, s.packages, nanos(p.At))
}

// Packages returns the packages with the content of pending changes, and forgets all
// others. If baseline is true, it returns only packages of Resource Dumps.
func (s *State) Packages(baseline bool) (out []Package, err error) {
	if err := s.exec("DELETE FROM package WHERE id NOT IN (SELECT package FROM pending WHERE package > 0)"); err != nil {
		return nil, err
	}
	err = s.query("SELECT id, uri, length, entries, baseline, at FROM package WHERE baseline >= ? ORDER BY id", func(row *sqlite.Stmt) error {
		out = append(out, readPackage(row))
		return nil
	}, baseline)
	return out, err
}

// Package returns a package.
func (s *State) Package(id int64) (p Package, err error) {
	err = s.query("SELECT id, uri, length, entries, baseline, at FROM package WHERE id = ?", func(row *sqlite.Stmt) error {
		p = readPackage(row)
		return nil
	}, id)
	return p, err
}

func readPackage(row *sqlite.Stmt) Package {
	return Package{row.ColumnInt64(0), row.ColumnText(1), toLength(row.ColumnInt64(2)), row.ColumnInt64(3), row.ColumnBool(4), fromNanos(row.ColumnInt64(5))}
}

// PendingIn returns up to limit pending changes after a position whose content is in a
// package, in order.
func (s *State) PendingIn(id, after int64, limit int) ([]Pending, error) {
	return s.pending("WHERE package = ? AND package > 0 AND seq > ? ORDER BY seq LIMIT +?", id, after, limit)
}

// Contained returns the number of pending changes whose content is in a package, and the
// sum of their lengths as far as they are known.
func (s *State) Contained(id int64) (n, bytes int64, err error) {
	err = s.query("SELECT count(*), coalesce(sum(max(length, 0)), 0) FROM pending WHERE package = ? AND package > 0", func(row *sqlite.Stmt) error {
		n, bytes = row.ColumnInt64(0), row.ColumnInt64(1)
		return nil
	}, id)
	return n, bytes, err
}

// NextPackage returns the package of the first pending change after a position whose content
// is in another package than id, or 0.
func (s *State) NextPackage(id, after int64) (int64, error) {
	return s.int("SELECT coalesce((SELECT package FROM pending WHERE seq > ? AND +package > 0 AND +package != ? ORDER BY seq LIMIT 1), 0)", after, id)
}

// packable is true for a pending change whose content can be in a package. If the copy
// already shows the entry, and the entry cannot show a later change, only the server can
// have the content.
const packable = `change != 'deleted' AND attempts = 0 AND doubt = 0 AND NOT (change = '' AND hashes = ''
	AND EXISTS (SELECT 1 FROM resource r WHERE r.uri = pending.uri AND r.vague = 1 AND r.lastmod = pending.lastmod))`

// Unpackaged returns the number of pending changes of a set whose content can be in a package
// that is not known.
func (s *State) Unpackaged(set string) (int64, error) {
	return s.int("SELECT count(*) FROM pending WHERE sets = ? AND package = 0 AND "+packable, set)
}

// Attach records that the content of a pending change is in a package, if p, its entry as of p.At,
// describes the same version of the resource. A dump can be older or newer than the list.
func (s *State) Attach(p *Pending) (attached bool, err error) {
	var have resourcesync.Change
	seq := int64(0)
	err = s.query("SELECT datetime, lastmod, length, hashes, seq FROM pending WHERE uri = ? AND "+packable, func(row *sqlite.Stmt) error {
		have.Datetime, have.Resource.LastModified = fromNanos(row.ColumnInt64(0)), fromNanos(row.ColumnInt64(1))
		have.Resource.Length = toLength(row.ColumnInt64(2))
		have.Resource.Hashes, _ = resourcesync.AppendHashes(nil, row.ColumnText(3))
		attached, seq = sameVersion(&have, &p.Change) && isOver(&p.Change, p.At), row.ColumnInt64(4)
		return nil
	}, p.Change.Resource.URI)
	if err != nil || !attached {
		return false, err
	}
	return true, s.exec("UPDATE pending SET package = ?, member = ? WHERE seq = ?", p.Package, p.Member, seq)
}

// OldestPackage returns the earliest time as of which packages of Resource Dumps have the contents of pending changes, or
// zero.
func (s *State) OldestPackage() (time.Time, error) {
	n, err := s.int("SELECT coalesce(min(at), 0) FROM package WHERE baseline = 1 AND at > 0 AND id IN (SELECT package FROM pending WHERE package > 0)")
	return fromNanos(n), err
}

// detach makes the pending change of a resource be requested alone, if its package may be older than a change that neither
// a hash nor lastmod shows.
func (s *State) detach(k *knowledge, c *resourcesync.Change) error {
	t := c.Datetime
	if !k.waiting || k.row.hashes != "" || t.IsZero() || !c.Resource.LastModified.Before(t) {
		return nil
	}
	return s.exec("UPDATE pending SET package = 0 WHERE seq = ? AND package IN (SELECT id FROM package WHERE baseline = 1 AND at > 0 AND at < ?)", k.row.seq, nanos(t.Add(Precision(t))))
}

// isOver reports whether no later version of a resource can have an entry like c, as of at: it has a hash, or
// the unit of its last time was over. An older lastmod can belong to several versions.
func isOver(c *resourcesync.Change, at time.Time) bool {
	t := latest(c.Resource.LastModified, c.Datetime)
	return len(c.Resource.Hashes) > 0 || !t.IsZero() && (Precision(t) < time.Second || !at.Before(t.Add(Precision(t))))
}

// sameVersion reports whether two entries describe the same version of a resource. Without
// hashes, a time must be the same, and nothing may differ. If only one of them has the time of a
// change, lastmod must show that change: an older one can belong to several versions.
func sameVersion(a, b *resourcesync.Change) bool {
	if comparable, same := digest.Compare(a.Resource.Hashes, b.Resource.Hashes); comparable {
		return same
	}
	x, y := &a.Resource, &b.Resource
	lengths := x.Length != (resourcesync.Length{}) && y.Length != (resourcesync.Length{})
	if lengths && x.Length != y.Length {
		return false
	}
	same := false
	for _, times := range [][2]time.Time{{x.LastModified, y.LastModified}, {a.Datetime, b.Datetime}} {
		switch {
		case times[0].IsZero() || times[1].IsZero():
			if t := latest(a.Datetime, b.Datetime); same && x.LastModified.Before(t) {
				return false
			}
		case !times[0].Equal(times[1]):
			return false
		default:
			same = true
		}
	}
	return same
}
