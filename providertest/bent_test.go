package providertest

import (
	"context"
	"io"
	"iter"
	"net/url"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// bent is a good provider with some methods replaced by bad ones.
type bent struct {
	full
	opts  *Options
	after context.Context       // ends after the test of the provider
	as    resourcesync.Provider // what is tested: the bent provider itself, or with fewer upgrades

	resources  func(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error]
	stat       func(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error)
	cuts       func(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error)
	since      func(ctx context.Context) (time.Time, error)
	changes    func(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error]
	windows    func(ctx context.Context, max int) ([]resourcesync.Interval, error)
	open       func(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error)
	openChange func(ctx context.Context, c resourcesync.Change) (io.ReadCloser, error)
	openPatch  func(ctx context.Context, c resourcesync.Change, l resourcesync.Link) (io.ReadCloser, error)
	checksum   func(ctx context.Context, r resourcesync.Resource) (uint32, error)
	watch      func(ctx context.Context, wake func()) error
	covers     func(u *url.URL) bool
	archives   func() []resourcesync.Capability
	snapshots  func(ctx context.Context, archive resourcesync.Capability) iter.Seq2[resourcesync.Snapshot, error]

	archivedWindows func(ctx context.Context, max int) ([]resourcesync.Interval, error)
	archivedChanges func(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error]
}

func newBent(t *testing.T, after context.Context, resources []resourcesync.Resource) *bent {
	f, opts := newFull(t, resources)
	b := &bent{
		full:       f,
		opts:       opts,
		after:      after,
		resources:  f.Resources,
		stat:       f.Stat,
		cuts:       f.Cuts,
		since:      f.Since,
		changes:    f.Changes,
		windows:    f.Windows,
		open:       f.Open,
		openChange: f.OpenChange,
		openPatch:  f.OpenPatch,
		checksum:   f.Checksum,
		watch:      f.Watch,
		covers:     f.Covers,
		archives:   f.Archives,
		snapshots:  f.Snapshots,

		archivedWindows: f.ArchivedWindows,
		archivedChanges: f.ArchivedChanges,
	}
	b.as = b
	return b
}

func (b *bent) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return b.resources(ctx, r)
}

func (b *bent) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	return b.stat(ctx, r)
}

func (b *bent) Cuts(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	return b.cuts(ctx, previous, every)
}

func (b *bent) ArchivedWindows(ctx context.Context, max int) ([]resourcesync.Interval, error) {
	return b.archivedWindows(ctx, max)
}

func (b *bent) ArchivedChanges(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return b.archivedChanges(ctx, iv)
}

func (b *bent) Archives() []resourcesync.Capability { return b.archives() }

func (b *bent) Snapshots(ctx context.Context, archive resourcesync.Capability) iter.Seq2[resourcesync.Snapshot, error] {
	return b.snapshots(ctx, archive)
}

func (b *bent) Since(ctx context.Context) (time.Time, error) { return b.since(ctx) }

func (b *bent) Changes(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return b.changes(ctx, iv)
}

func (b *bent) Windows(ctx context.Context, max int) ([]resourcesync.Interval, error) {
	return b.windows(ctx, max)
}

func (b *bent) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	return b.open(ctx, r)
}

func (b *bent) OpenChange(ctx context.Context, c resourcesync.Change) (io.ReadCloser, error) {
	return b.openChange(ctx, c)
}

func (b *bent) OpenPatch(ctx context.Context, c resourcesync.Change, l resourcesync.Link) (io.ReadCloser, error) {
	return b.openPatch(ctx, c, l)
}

func (b *bent) Checksum(ctx context.Context, r resourcesync.Resource) (uint32, error) {
	return b.checksum(ctx, r)
}

func (b *bent) Watch(ctx context.Context, wake func()) error { return b.watch(ctx, wake) }

func (b *bent) Covers(u *url.URL) bool { return b.covers(u) }

// Providers with fewer upgrades, for faults that would also break other rules if there
// were more.

type plain struct{ resourcesync.Provider }

type onlyStater struct {
	resourcesync.Provider
	resourcesync.Stater
}

type onlyChanger struct {
	resourcesync.Provider
	resourcesync.Changer
}

type staterAndChanger struct {
	resourcesync.Provider
	resourcesync.Stater
	resourcesync.Changer
}
