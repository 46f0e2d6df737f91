package resourcesync

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/url"
	"time"
)

// A Provider supplies the resources of one set.
//
// # The contract
//
// A call of Resources does no work; ranging over its result does, and each range
// statement starts from the beginning. The iteration ends as soon as yield returns
// false or ctx is done; if ctx ends it early, the iteration yields the error of ctx.
// An error is yielded once and last, with a zero Resource. All methods are safe for
// concurrent use.
//
// An iteration need not be a snapshot: it may read in batches, and may show changes that are
// made while it runs. It can last as long as a slow client takes to receive a package, so it
// should hold no lock and no transaction that blocks writers while yield runs.
//
// Keys are ordered by their bytes, as Go's < orders strings (in PostgreSQL, COLLATE
// "C"). They are unique within the set.
//
// Where one of io/fs fits, errors match it with errors.Is: [io/fs.ErrNotExist] or
// [io/fs.ErrPermission]. [ErrNotReady] means that there is no data yet. Any other
// error means that the call failed and may succeed later. Its text is logged and
// never sent to a client.
//
// Package providertest checks all of this.
type Provider interface {
	// Resources yields the resources whose keys are in r, in ascending byte order
	// of Key.
	Resources(ctx context.Context, r Range) iter.Seq2[Resource, error]
}

// A Range is a half-open range of keys: it includes From and excludes To. The zero
// value contains every key.
type Range struct {
	From string
	To   string // "": no upper end
}

// Contains reports whether key is in r.
func (r Range) Contains(key string) bool {
	return r.From <= key && (r.To == "" || key < r.To)
}

// Stater is a Provider that knows cheaply whether anything has changed. Without it,
// every request reads the resources.
type Stater interface {
	// Stat describes the resources in r. Each request calls it for the whole set
	// and, if that has changed, for the range of the requested page. It should
	// cost far less than listing r.
	Stat(ctx context.Context, r Range) (Stat, error)
}

// A Stat describes the state of a set, or of a range of it.
type Stat struct {
	// Count is the number of resources, or negative if it is unknown.
	Count int64

	// LastModified is the time of the newest change, deletions included; zero if
	// unknown. It becomes the at of documents that show this state, so no change
	// that they do not show may be earlier. A time in the future counts as
	// unknown.
	LastModified time.Time

	// Version is opaque and differs between any two different states. It should
	// change exactly when something in the range changes; if it changes more
	// often, documents are rendered again. Empty means unknown.
	Version string
}

// Cutter is a Provider that finds page boundaries without reading every resource.
// Without it, the Source reads the set to divide it.
type Cutter interface {
	// Cuts divides the set into pages of about every resources; every is at
	// least one. previous is nil or the result of an earlier call with the same
	// every. Cuts splits the pages that have outgrown their limit, joins small
	// neighbours, and keeps all other boundaries of previous. The last cut has
	// Key "". An empty set has one page.
	Cuts(ctx context.Context, previous []Cut, every int) ([]Cut, error)
}

// A Cut ends a page of an indexed Resource List. The page has the keys from the Key
// of the previous cut, inclusive, to Key, exclusive.
type Cut struct {
	Key    string    // "" for the last page
	Count  int       // resources in the page
	Newest time.Time // the newest change in it, deletions included; zero if unknown
}

// Changer is a Provider that keeps a journal of changes. It gives the set a
// Change List.
type Changer interface {
	// Since returns the time after which the journal is complete: no change
	// with a later Datetime is missing. It may move forward when old changes
	// are dropped. It may also be the Datetime of the oldest change, unless
	// other changes with that Datetime have been dropped: if the Changer is not
	// a [Windower], changes at exactly Since are published as well.
	Since(ctx context.Context) (time.Time, error)

	// Changes yields the changes whose Datetime is in iv, in chronological
	// order, under the contract of [Provider]. In SQL: WHERE datetime > from AND
	// datetime <= until, omitting a bound that is zero.
	//
	// Destinations know URIs, not keys. So a resource that moves to another URI
	// is a Deleted change at the old URI and a Created change at the new one. If
	// another resource also has the old URI, a Created change announces that
	// resource again.
	Changes(ctx context.Context, iv Interval) iter.Seq2[Change, error]
}

// Windower is a Changer that divides its journal itself. Without it, the Source reads
// the journal once and remembers its windows.
type Windower interface {
	// Windows returns the intervals of the set's Change Lists, of at most max
	// changes each, in order. The first begins at Since, each of the others where
	// the previous one ends, and only the last is open. A closed window never
	// changes: every later change has a Datetime after its Until.
	Windows(ctx context.Context, max int) ([]Interval, error)
}

// Opener is a Provider that can read the content of its resources. It gives the set
// a Resource Dump.
type Opener interface {
	// Open opens the representation of r for reading: the bytes that r's Length
	// and Hashes describe. r is as Resources yields it, but may lack its Links
	// and Attrs. If those bytes no longer exist, the error is io/fs.ErrNotExist.
	//
	// If r has no Length, the Source reads the content one more time, when it plans
	// the package. If r has no Hashes that the Source computes (MD5, SHA-1, SHA-256),
	// it compares only the length with the list.
	Open(ctx context.Context, r Resource) (io.ReadCloser, error)
}

// Checksummer is an [Opener] or a [ChangeOpener] that knows the checksums of its
// content. In a package the checksum of a bitstream precedes its bytes, so without a
// Checksummer each bitstream is read twice when it is first sent.
type Checksummer interface {
	// Checksum returns the CRC-32 (IEEE 802.3) of the bytes that r's Length and
	// Hashes describe, without reading them. If it is unknown, the error is
	// errors.ErrUnsupported, and the bytes are read when they are sent.
	Checksum(ctx context.Context, r Resource) (crc32 uint32, err error)
}

// ChangeOpener is a Provider that can read the content of past versions. It gives a
// set with a journal a Change Dump. One that is not a [Changer] itself may be a
// [VersionRetainer] and a [VersionLinker].
type ChangeOpener interface {
	// OpenChange opens the representation that c created. c is as Changes
	// yields it, but its Resource may lack Links and Attrs. If the version no
	// longer exists, or c is a deletion, the error is io/fs.ErrNotExist.
	//
	// The journal may assign the Datetime, so the host cannot always find the version
	// by it. Identify the version by its hash: store digests with the resource, as
	// Hashes (in package sqltable, name a column of digests in Table.Hashes).
	OpenChange(ctx context.Context, c Change) (io.ReadCloser, error)
}

// A VersionRetainer is a [ChangeOpener] that keeps versions for a shorter time than the
// journal has their changes.
type VersionRetainer interface {
	// Since returns the time after which every version exists. It may move forward.
	Since(ctx context.Context) (time.Time, error)
}

// A VersionLinker is a [ChangeOpener] that decides which entries of Change Lists link to its
// versions, where versions have URIs of their own (RFC 7089).
type VersionLinker interface {
	// Linked reports whether the entry of a change at the time t has a link. The answer
	// never changes.
	Linked(t time.Time) bool
}

// PatchOpener is a [ChangeOpener] that can read the patches that links with
// [RelPatch] of a changed Resource lead to: the difference from the previous version
// (section 14.4). The packages of a Change Dump contain them beside the versions.
// Without a PatchOpener, manifests omit such links, because a link in a manifest must
// give the path of the patch in the package.
type PatchOpener interface {
	// OpenPatch opens the target of link, one of the Links of c's Resource: the
	// bytes that its Length and Hashes describe. c is as for OpenChange. A patch
	// must exist for as long as its version does. If it does not, the error is
	// io/fs.ErrNotExist.
	OpenPatch(ctx context.Context, c Change, link Link) (io.ReadCloser, error)
}

// Watcher is a Provider that reports changes at once. Without it, the Source polls
// the set.
type Watcher interface {
	// Watch calls wake at least once after each change, until ctx is done, and then
	// returns nil, or until watching fails. It may call wake when nothing has changed. wake does not
	// block and may be called from any goroutine.
	Watch(ctx context.Context, wake func()) error
}

// A Runner is a Provider with background work, such as following its origin. Source.Run of
// package rshttp runs it, and Source.Health calls its Health.
type Runner interface {
	// Run works until ctx ends, and then returns nil. It may be called again after that.
	Run(ctx context.Context) error

	// Health returns what prevents the Provider from working, or nil.
	Health(ctx context.Context) error
}

// Coverer is a Provider that knows which URLs belong to its set.
type Coverer interface {
	// Covers reports whether the resource at u is covered by the set's capabilities
	// (section 6.3.3). u is the URL of a request: its path and query are set, its
	// scheme and host may not be. A URL with a query differs from the URL without it.
	// Each request calls Covers, so it should return quickly. A Source caches the
	// answers: see its method Link.
	Covers(u *url.URL) bool
}

// An Archiver is a Provider that keeps earlier Resource Lists, Resource Dumps,
// Change Lists or Change Dumps of its set. It gives the set the archives of
// ResourceSync Archives: documents that list the earlier documents. The host serves
// the earlier documents itself, at URIs outside of the set.
type Archiver interface {
	// Archives returns the capabilities of the archives that exist:
	// [ResourceListArchive], [ResourceDumpArchive], [ChangeListArchive] or
	// [ChangeDumpArchive]. It always returns the same capabilities.
	Archives() []Capability

	// Snapshots yields the documents in one of these archives, under the contract
	// of [Provider], in chronological order of At or Interval.From.
	Snapshots(ctx context.Context, archive Capability) iter.Seq2[Snapshot, error]
}

// A Snapshot is an earlier document of a set: an entry of an archive.
type Snapshot struct {
	// URI is the absolute URI of the document.
	URI string

	// LastModified is when the document was last modified; zero if unknown.
	LastModified time.Time

	// At is the time as of which a Resource List or Resource Dump is complete.
	// Completed is optional: the time at which the host finished taking it.
	At, Completed time.Time

	// Interval is the closed interval that a Change List or Change Dump covers.
	Interval Interval
}

// ErrNotReady means that a provider has no data yet, for example because the first
// scan of its folder has not ended. Over HTTP it becomes 503 with Retry-After, never
// an empty list.
var ErrNotReady = errors.New("resourcesync: not ready yet")

// Combined is a Provider that has upgrades in other values, such as one that adds the Opener of
// a folder to a stored set. An upgrade that the Provider itself implements comes first.
type Combined interface {
	Provider

	// Upgrades returns the values that may implement further upgrades, always the same.
	Upgrades() []any
}
