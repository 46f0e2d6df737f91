package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// SetOptions configure a [Set]. The zero value is a reasonable default.
type SetOptions struct {
	// AwaitScan keeps a new set closed until its first [Set.Scan] has completed.
	// Until then the methods of Provider and its upgrades return
	// [resourcesync.ErrNotReady], Covers returns false, and only Watch works. The
	// resources of the first scan are the baseline: the journal begins after them and
	// has no creation for each.
	//
	// If false, a new set is open and empty, and its journal has the creations of all
	// resources. AwaitScan has no effect on a set that exists.
	AwaitScan bool

	// MaxDelete is the fraction of the set that scans may delete, and [Set.Withdraw] may
	// remove, without confirmation. [Set.Scan] holds its deletions if the net deletions
	// of the last one to two times MaxDeleteHold, which are deletions less creations,
	// exceed this fraction, or if no resource would be left. Creations offset later
	// deletions for a few minutes only. Up to two deletions are never held, unless no
	// resource would be left. If zero, 0.25 is used; if 1 or more, no deletions are
	// held; if negative, all net deletions are held.
	MaxDelete float64

	// MaxDeleteHold is how long deletions are held. When no missing resource has come
	// back for that long, the next scan publishes them. The time starts again when a
	// scan misses more than two further resources, or all that remain. If zero, one
	// hour is used; if negative, deletions are held until [Set.ConfirmDeletions].
	MaxDeleteHold time.Duration
}

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

	journalOnly bool
}

// A Set is a set of resources with its journal.
//
// All methods are safe for concurrent use. Every change gets a Datetime of its own: the
// current time in microseconds, or a microsecond after the previous change if that is
// later.
type Set struct {
	Journal
	limits guard.Limits

	scanning  atomic.Pointer[scan] // the Scan of this process, or nil
	published atomic.Int64         // withdrawn resources whose deletions no scan has judged
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

	_ resourcesync.Stater   = (*Journal)(nil)
	_ resourcesync.Windower = (*Journal)(nil)
	_ resourcesync.Sealer   = (*Journal)(nil)
	_ resourcesync.Changer  = (*Journal)(nil)
	_ resourcesync.Watcher  = (*Journal)(nil)
)

// Set returns the set of this name, and creates it if there is none. opts may be nil.
func (s *Store) Set(ctx context.Context, name string, opts *SetOptions) (*Set, error) {
	if opts == nil {
		opts = &SetOptions{}
	}
	row := setRow{name: name, ready: !opts.AwaitScan}
	set := &Set{Journal: Journal{store: s, name: name}, limits: guard.NewLimits(opts.MaxDelete, opts.MaxDeleteHold)}
	if err := set.open(ctx, row); err != nil {
		return nil, err
	}
	return set, nil
}

// Journal returns the journal of this name, and creates it if there is none. A set and a
// journal cannot have the same name.
func (s *Store) Journal(ctx context.Context, name string) (*Journal, error) {
	j := &Journal{store: s, name: name, journalOnly: true}
	if err := j.open(ctx, setRow{name: name, journal: true, ready: true}); err != nil {
		return nil, err
	}
	return j, nil
}

// Name returns the name of the journal or set.
func (j *Journal) Name() string { return j.name }

// open finds the row of the set, or inserts the proposed one.
func (j *Journal) open(ctx context.Context, proposed setRow) error {
	found, err := j.store.findSet(ctx, j.name)
	if err == nil && found == nil {
		if err = j.store.makeSet(ctx, proposed); err == nil {
			found, err = j.store.findSet(ctx, j.name)
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("sqlstore: set %q: %w", j.name, err)
	case found.journal:
		if !proposed.journal {
			return fmt.Errorf("sqlstore: %q is the name of a journal and cannot be that of a set", j.name)
		}
	case proposed.journal:
		return fmt.Errorf("sqlstore: %q is the name of a set and cannot be that of a journal", j.name)
	}
	j.id = found.id
	j.ready.Store(found.ready)
	return nil
}

// checkReady returns ErrNotReady until the first scan of a set that awaits it.
func (j *Journal) checkReady(ctx context.Context, c rowdb.Conn) error {
	if j.ready.Load() {
		j.store.expectRun()
		return nil
	}
	_, err := j.readReady(ctx, c)
	return err
}

// readReady returns the row of a set that is ready.
func (j *Journal) readReady(ctx context.Context, c rowdb.Conn) (setRow, error) {
	j.store.expectRun()
	r, err := readSet(ctx, c, j.id)
	if err == nil && !r.ready {
		err = resourcesync.ErrNotReady
	}
	if err == nil {
		j.ready.Store(true)
	}
	return r, err
}

// fail wraps an error of a method, and records damage.
func (j *Journal) fail(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, resourcesync.ErrNotReady):
		return resourcesync.ErrNotReady
	}
	j.store.noteDamage(j.name, err)
	return fmt.Errorf("sqlstore: set %q: %s: %w", j.name, what, err)
}
