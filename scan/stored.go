package scan

import (
	"context"
	"iter"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// A Stored is a set of resources with a journal, which scans fill. *sqlstore.Set and
// *memory.Set implement it. All methods are safe for concurrent use.
type Stored interface {
	resourcesync.Provider
	resourcesync.Stater
	resourcesync.Cutter
	resourcesync.Changer
	resourcesync.Windower
	resourcesync.Sealer
	resourcesync.Watcher
	resourcesync.Coverer

	// Window returns the longest time that a Change List covers.
	Window() time.Duration

	// Known returns the resources with these keys, in the same order; a zero Resource
	// means that there is none. It also works before the first scan.
	Known(ctx context.Context, keys []string) ([]resourcesync.Resource, error)

	// Put adds resources, or replaces those with the same keys.
	Put(ctx context.Context, resources ...resourcesync.Resource) error

	// Delete removes resources, whose deletions are published.
	Delete(ctx context.Context, keys ...string) error

	// Withdraw removes resources from the lists at once. Too many deletions are held, as
	// after a scan.
	Withdraw(ctx context.Context, keys ...string) error

	// WithdrawForScan is like Withdraw, except that no deletion is published before the
	// end of a complete scan.
	WithdrawForScan(ctx context.Context, keys ...string) error

	// ApproveWithdrawn has each scan call approve before it publishes deletions of withdrawn
	// resources, including those that other processes have withdrawn. A scan does not publish
	// the deletion of a resource that is withdrawn after the call began. If approve returns an
	// error, the scan fails, and all of these deletions wait.
	ApproveWithdrawn(approve func(ctx context.Context) error)

	// Scan makes the set equal to a complete listing, under the contract of [Origin], and
	// deletes the resources that are not listed. If another scan runs, the error is [resourcesync.ErrScanning].
	Scan(ctx context.Context, resources iter.Seq2[resourcesync.Resource, error]) (resourcesync.ScanResult, error)

	// ScanRanges is like Scan, for the part of the set with keys in ranges. Before the
	// first complete scan, the error is [resourcesync.ErrNotReady].
	ScanRanges(ctx context.Context, ranges []resourcesync.Range, resources iter.Seq2[resourcesync.Resource, error]) (resourcesync.ScanResult, error)

	// Kept describes the missing resources that the last scan has kept.
	Kept(ctx context.Context) (Kept, error)

	// ConfirmDeletions lets the next scan publish the held deletions, and returns their
	// number. If more resources are missing by then, all of them are held again.
	ConfirmDeletions(ctx context.Context) (held int64, err error)

	// Origin returns what SetOrigin has recorded, or "".
	Origin(ctx context.Context) (string, error)
	SetOrigin(ctx context.Context, origin string) error
}

// A Store opens stored sets, such as *sqlstore.Store and *memory.Store.
type Store[S Stored] interface {
	// Set returns the set of this name, and creates it if there is none. o may be nil.
	Set(ctx context.Context, name string, o *SetOptions) (S, error)
}

// SetOptions configure a stored set. The zero value is a reasonable default.
type SetOptions struct {
	// AwaitScan keeps a new set closed until its first complete scan has ended. Until then
	// the methods of Provider and its upgrades return [resourcesync.ErrNotReady], Covers
	// returns false, and only Watch works. The resources of the first scan are the baseline:
	// the journal begins after them and has no creation for each. [Into] sets it.
	//
	// If false, a new set is open and empty, and its journal has the creations of all
	// resources. AwaitScan has no effect on a set that exists.
	AwaitScan bool

	// MaxDelete is the fraction of the set that scans may delete, and Withdraw may remove,
	// without confirmation. A scan holds its deletions if the net deletions of the last one
	// to two times MaxDeleteHold, which are deletions less creations, exceed this fraction,
	// or if no resource would be left. Creations offset later deletions for a few minutes
	// only. Up to two deletions are never held, unless no resource would be left. If zero,
	// 0.25 is used; if 1 or more, no deletions are held; if negative, all net deletions are
	// held.
	MaxDelete float64

	// MaxDeleteHold is how long deletions are held. When no missing resource has come back
	// for that long, the next scan publishes them. The time starts again when a scan misses
	// more than two further resources, or all that remain. If zero, one hour is used; if
	// negative, deletions are held until ConfirmDeletions.
	MaxDeleteHold time.Duration
}

// Kept describes the resources that the last scan of a set, by any process, has kept
// although they were not in its listing.
type Kept struct {
	// Held is the number of resources whose deletion is held, because there were more
	// than [SetOptions].MaxDelete allows. Withdrawn resources among them are not listed.
	Held int64

	// Since is when the first of these deletions was held. The first scan after Until
	// publishes them if no resource comes back. Until is zero if they wait for a
	// confirmation.
	Since, Until time.Time

	// Confirmed reports whether the next scan publishes them.
	Confirmed bool

	// Unreadable is the number of resources that the origin could not read and reported by
	// a [resourcesync.UnreadableError].
	Unreadable int64
}

// A Restarter is a [Stored] set that notices that it has lost changes, because its database was
// restored, or another server has taken over.
type Restarter interface {
	// Restarted returns a channel that then gets a value. [Set.Run] scans everything again.
	Restarted() <-chan struct{}
}
