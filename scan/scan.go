// Package scan publishes what an origin lists: a folder, a bucket, a website, the records of
// a repository.
//
// An [Origin] lists resources in any order, and does not know what has been deleted. A
// stored set has an order, a journal and versions, but needs a source of resources. [Into]
// joins the two. The result is a [resourcesync.Provider], and rshttp.Source.Run runs it:
//
//	papers, err := dir.Open("papers", "https://example.org/", nil)
//	store, err := sqlitestore.OpenFile(ctx, "papers.db", nil)
//	set, err := scan.Into(ctx, store, "papers", papers, nil)
//	src, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{Provider: set}},
//		&rshttp.Options{Store: store})
//	err = src.Run(ctx)
//
// # What Run does
//
// It scans all of the origin at the start and at an interval, and soon after an event scans
// the part that has changed, or everything if that part is not known. It repeats scans that
// fail, and leaves the set to another process that scans it. Until the first complete scan,
// the set is not ready. A complete scan deletes the resources that it no longer lists. If
// they are too many, the deletions are held until they are confirmed or a time limit ends
// ([SetOptions]). Resources that cannot be read are kept. [Set.Health] has the errors, and
// [Options].Observe and [Set.Last] the results.
//
// A set belongs to one origin: with another one, everything would be published as deleted. So
// the set records the [Identity] of its origin, and Into refuses another.
package scan

import (
	"context"
	"iter"

	"github.com/resourcesync-go/resourcesync"
)

// An Origin is the place that the resources of a set come from. All methods of an Origin and
// of its upgrades are safe for concurrent use, but one listing of everything runs at a time.
//
// The other interfaces of this file are upgrades, found by type assertion. An Origin that is
// a [resourcesync.Opener], [resourcesync.Checksummer], [resourcesync.ChangeOpener],
// [resourcesync.PatchOpener] or [resourcesync.Archiver] gives the set this upgrade.
type Origin interface {
	// Resources lists all resources, in any order. A call does no work; ranging over its
	// result does, and each range statement lists everything again. It ends as soon as
	// yield returns false or ctx is done.
	//
	// Two errors do not end the iteration. A [resourcesync.UnreadableError] stands for a
	// part that cannot be read now, whose resources are kept. [resourcesync.ErrUnchanged],
	// with a Resource that has only a Key, stands for a resource that the set has in its
	// current version. Any other error is yielded once and last, with a zero Resource: the
	// listing is incomplete, and nothing is deleted.
	Resources(ctx context.Context) iter.Seq2[resourcesync.Resource, error]
}

// A Binder is an Origin that needs the set that it fills: to recognize what has not changed,
// or to change resources between scans.
type Binder interface {
	// Bind is called once, by [Into]. set has the resources that the origin has listed.
	// Partial scans of it are logged and observed like those that [Set.Run] starts. open
	// opens a further stored set, which the origin can use as its memory and which is not
	// published.
	Bind(ctx context.Context, set Stored, open func(ctx context.Context, purpose string) (Stored, error)) error
}

// A Filler is an Origin that knows what has changed since it filled the set, and so need not
// list everything.
type Filler interface {
	// Fill makes the set that Bind received equal to the origin. It takes the place of a
	// complete scan of Resources.
	Fill(ctx context.Context) (resourcesync.ScanResult, error)
}

// A Parter is an Origin of which parts can be listed.
type Parter interface {
	// Part lists the resources at paths, which [Watcher] has reported, and returns the
	// ranges of their keys. The set replaces its resources in these ranges.
	Part(ctx context.Context, paths []string) ([]resourcesync.Range, iter.Seq2[resourcesync.Resource, error])
}

// A Watcher is an Origin that notices changes. It may miss some, which complete scans find.
type Watcher interface {
	// Watch calls changed with the paths that may have changed, until ctx is done or
	// watching fails. With nil, anything may have changed, and all is scanned. The first
	// call of a [Parter] is changed(nil), when it is ready to notice what a scan misses.
	// changed may take as long as the scan of a part.
	Watch(ctx context.Context, changed func(paths []string)) error
}

// A Runner is an Origin with background work.
type Runner interface {
	// Run works until ctx ends, and then returns nil.
	Run(ctx context.Context) error
}

// A Healther is an Origin that can be in trouble between scans.
type Healther interface {
	// Health returns what keeps the origin from noticing changes, or nil. It waits for
	// nothing.
	Health() error
}

// An Observer is an Origin that needs to know what has become of its listings.
type Observer interface {
	// Scanned is called after each complete scan of this process, before the next one
	// begins, and before its result is reported elsewhere. It must not block.
	Scanned(r Result)
}

// A Hider is an Origin that can forbid to show the set.
type Hider interface {
	// Hidden returns an error while the set must not be shown: requests for it are
	// answered as before its first scan. It is called for each request.
	Hidden() error
}

// An Estimator is an Origin that can estimate the size of a scan.
type Estimator interface {
	// Estimate returns the number of resources, and the bytes that a scan that knows
	// nothing reads; zero bytes if it reads none.
	Estimate(ctx context.Context) (resources, bytes int64, err error)
}

// A Progresser is an Origin that counts what it has listed.
type Progresser interface {
	// Progress returns the progress of the listing of Resources or of the Fill that runs,
	// or else of the last one.
	Progress() Progress
}

// Progress is the progress of a listing.
type Progress struct {
	Resources int64 // listed
	Skipped   int64 // not listed, because they cannot be read or published
	Bytes     int64 // read; unchanged resources are not read
}
