package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/stored"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A Journal is the journal of a set whose resources are elsewhere: the host's own table
// is the Provider. Its Stat counts no resources; its Version and LastModified move with
// each change.
//
//	rshttp.Set{Provider: papers, Changer: journal}
//
// The journal is also the Stater: it reports when the table has changed, so it must have
// all changes of the table.
type Journal struct {
	store *Store
	id    int64
	name  string
	ready atomic.Bool
	seen  atomic.Int64 // the newest time of a state or a change that this process has read
	found atomic.Int64 // the newest change that this process has read; a state can be later

	restarted chan struct{} // has a value when this process has started the journal over

	journalOnly bool
}

// A Set is a set of resources with its journal.
//
// All methods are safe for concurrent use. Every change gets a unique Datetime: the current
// time in microseconds, or a microsecond after the previous change if that is later.
type Set struct {
	Journal
	limits    guard.Limits
	divisions divisions

	scanning  atomic.Pointer[scanRun] // the Scan of this process, or nil
	published atomic.Int64            // withdrawn resources whose deletions no scan has judged

	approve atomic.Pointer[func(context.Context) error] // see ApproveWithdrawn; may be nil
}

var (
	_ resourcesync.Provider   = (*Set)(nil)
	_ resourcesync.PartStater = (*Set)(nil)
	_ resourcesync.Cutter     = (*Set)(nil)
	_ resourcesync.Changer    = (*Set)(nil)
	_ resourcesync.Windower   = (*Set)(nil)
	_ resourcesync.Sealer     = (*Set)(nil)
	_ resourcesync.Watcher    = (*Set)(nil)
	_ resourcesync.Coverer    = (*Set)(nil)
	_ scan.Stored             = (*Set)(nil)
	_ scan.Restarter          = (*Set)(nil)

	_ resourcesync.Stater   = (*Journal)(nil)
	_ resourcesync.Windower = (*Journal)(nil)
	_ resourcesync.Sealer   = (*Journal)(nil)
	_ resourcesync.Changer  = (*Journal)(nil)
	_ resourcesync.Watcher  = (*Journal)(nil)
)

// Set returns the set of this name, and creates it if there is none. opts may be nil.
func (s *Store) Set(ctx context.Context, name string, opts *scan.SetOptions) (*Set, error) {
	row := setRow{name: name, ready: opts == nil || !opts.AwaitScan}
	set := &Set{Journal: Journal{store: s, name: name, restarted: make(chan struct{}, 1)}, limits: stored.Limits(opts)}
	if err := set.open(ctx, row); err != nil {
		return nil, err
	}
	return set, nil
}

// Sets returns the names of the sets in the store, sorted, without those of journals.
func (s *Store) Sets(ctx context.Context) ([]string, error) { return s.names(ctx, 0) }

// Journals returns the names of the journals in the store, sorted, without the journals of sets.
func (s *Store) Journals(ctx context.Context) ([]string, error) { return s.names(ctx, 1) }

func (s *Store) names(ctx context.Context, journal int) ([]string, error) {
	names, err := rowdb.All(ctx, s.db, rowdb.Text, "SELECT name FROM rs_set WHERE journal = $1", journal)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: sets: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// Journal returns the journal of this name, and creates it if there is none. A set and a
// journal cannot have the same name.
func (s *Store) Journal(ctx context.Context, name string) (*Journal, error) {
	j := &Journal{store: s, name: name, journalOnly: true, restarted: make(chan struct{}, 1)}
	if err := j.open(ctx, setRow{name: name, journal: true, ready: true}); err != nil {
		return nil, err
	}
	return j, nil
}

// Name returns the name of the journal or set.
func (j *Journal) Name() string { return j.name }

// open finds the row of the set, or inserts the proposed one.
func (j *Journal) open(ctx context.Context, proposed setRow) error {
	found, err := findSet(ctx, j.store.db, "name = $1", j.name)
	if err == errNoSet {
		if err = j.store.makeSet(ctx, proposed); err == nil {
			found, err = findSet(ctx, j.store.db, "name = $1", j.name)
		}
	}
	kind := map[bool]string{true: "journal", false: "set"}
	switch {
	case err != nil:
		return fmt.Errorf("sqlstore: set %q: %w", j.name, err)
	case found.journal != proposed.journal:
		return fmt.Errorf("sqlstore: %q is the name of a %s; a %s needs another name", j.name, kind[found.journal], kind[proposed.journal])
	}
	j.id = found.id
	j.ready.Store(found.ready)
	j.store.survival.add(j)
	return nil
}

// checkReady returns ErrNotReady until the first scan of a set that awaits it.
func (j *Journal) checkReady(ctx context.Context, c rowdb.Querier) error {
	if j.ready.Load() {
		j.store.expectRun()
		return nil
	}
	_, err := j.readReady(ctx, c)
	return err
}

// readReady returns the row of a set that is ready.
func (j *Journal) readReady(ctx context.Context, c rowdb.Querier) (setRow, error) {
	j.store.expectRun()
	r, err := readSet(ctx, c, j.id)
	if err == nil && !r.ready {
		err = resourcesync.ErrNotReady
	}
	if err == nil {
		j.ready.Store(true)
		j.saw(r.last)
	}
	return r, err
}

// saw notes the time of a change that readers may have seen.
func (j *Journal) saw(at int64) { raise(&j.seen, at) }

func raise(n *atomic.Int64, to int64) {
	for before := n.Load(); before < to && !n.CompareAndSwap(before, to); before = n.Load() {
	}
}

// Seen returns the time of the newest change that was read by j, or the zero time. If the
// database no longer has it, it was restored from an earlier time.
func (j *Journal) Seen() time.Time {
	if at := j.seen.Load(); at != 0 {
		return moment(at)
	}
	return time.Time{}
}

// fail wraps an error of a method, but not one of a listing, and records damage.
func (j *Journal) fail(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, resourcesync.ErrNotReady):
		return resourcesync.ErrNotReady
	}
	j.store.noteDamage(j.name, err)
	if listing, ok := err.(*stored.ListingError); ok {
		return listing.Err
	}
	return fmt.Errorf("sqlstore: set %q: %s: %w", j.name, what, err)
}

type setRow struct {
	id      int64
	name    string
	journal bool
	ready   bool
	begin   int64
	since   int64
	last    int64
	count   int64

	archive   int64
	forgotten int64
	erased    int64
}

const setColumns = "id, name, journal, ready, begin, since, last, count, archive, forgotten, erased"

func readSetRow(row rowdb.Row) setRow {
	return setRow{
		id:      row.Int(0),
		name:    rowdb.String(row, 1),
		journal: row.Int(2) != 0,
		ready:   row.Int(3) != 0,
		begin:   row.Int(4),
		since:   row.Int(5),
		last:    row.Int(6),
		count:   row.Int(7),

		archive:   row.Int(8),
		forgotten: row.Int(9),
		erased:    row.Int(10),
	}
}

func (s *Store) makeSet(ctx context.Context, r setRow) error {
	now := s.now().UnixMicro()
	return s.db.Update(ctx, func(c rowdb.Conn) error {
		n, err := c.Exec(ctx, `INSERT INTO rs_set (name, journal, ready, begin, since, last, count, archive)
			VALUES ($1, $2, $3, $4, $5, $6, 0, $7) ON CONFLICT (name) DO NOTHING`,
			r.name, number(r.journal), number(r.ready), now, now, now, now)
		if err != nil || n == 0 || r.journal {
			return err
		}
		_, err = c.Exec(ctx, `INSERT INTO rs_block (set_id, lo, rows, count, bytes, newest)
			SELECT id, $1, 0, 0, 0, 0 FROM rs_set WHERE name = $2`, []byte{}, r.name)
		return err
	})
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

var errNoSet = errors.New("the set is not in the store")

func readSet(ctx context.Context, c rowdb.Querier, id int64) (setRow, error) {
	return findSet(ctx, c, "id = $1", id)
}

// findSet returns the row that fulfils a condition, or errNoSet.
func findSet(ctx context.Context, c rowdb.Querier, where string, arg any) (setRow, error) {
	r, err := rowdb.One(ctx, c, readSetRow, "SELECT "+setColumns+" FROM rs_set WHERE "+where, arg)
	if err == nil && r.id == 0 {
		err = errNoSet
	}
	return r, err
}

// Origin returns the origin that [Set.SetOrigin] has recorded, or "".
func (s *Set) Origin(ctx context.Context) (string, error) {
	origin, err := rowdb.One(ctx, s.store.db, rowdb.Text, "SELECT coalesce(origin, '') FROM rs_set WHERE id = $1", s.id)
	return origin, s.fail("origin", err)
}

// SetOrigin records the origin of the resources in the set, such as a folder. The
// store does not interpret it. A program can compare it before a scan: a listing of
// another folder would delete every resource.
func (s *Set) SetOrigin(ctx context.Context, origin string) error {
	return s.fail("set origin", s.store.db.Update(ctx, func(c rowdb.Conn) error {
		_, err := c.Exec(ctx, "UPDATE rs_set SET origin = $1 WHERE id = $2", origin, s.id)
		return err
	}))
}
