package resourcesync

import (
	"context"
	"io"
	"iter"
	"net/url"
	"time"
)

// A Provider supplies the resources of one set.
//
// # The contract
//
// Calling Resources does no work; ranging over its result does. Ranging again
// starts again. The iteration ends as soon as yield returns false or ctx is
// done; when ctx ends it early, its error is yielded. An error is yielded once
// and last, with a zero Resource. All methods are safe for concurrent use.
//
// Order is the order of the keys' bytes, that of Go's < on strings. (In
// PostgreSQL it is that of COLLATE "C".) Keys are unique within the set.
//
// Errors are those of io/fs where one fits: [io/fs.ErrNotExist] and
// [io/fs.ErrPermission], matched with errors.Is. [ErrNotReady] says that there
// is nothing to show yet. Any other error means "failed, try again later", and
// its text is logged but never shown to a client.
//
// Package providertest checks all of this.
type Provider interface {
	// Resources yields, in ascending byte order of Key, the resources whose
	// keys are in r.
	Resources(ctx context.Context, r Range) iter.Seq2[Resource, error]
}

// A Range is a half-open range of keys, From included and To not. The zero
// value holds every key.
type Range struct {
	From string
	To   string // "": no upper end
}

// Contains reports whether key is in r.
func (r Range) Contains(key string) bool {
	return r.From <= key && (r.To == "" || key < r.To)
}

// Stater is a Provider that knows cheaply whether anything has changed.
// Without it every request asks for the resources themselves.
type Stater interface {
	// Stat describes the resources in r. It is asked at every request for
	// the whole set, and for the range of a page when the answer for the
	// whole has changed; it should cost far less than listing r.
	Stat(ctx context.Context, r Range) (Stat, error)
}

// A Stat describes the state of a set, or of a range of it.
type Stat struct {
	// Count is the number of resources.
	Count int64

	// LastModified is the time of the newest change, deletions included,
	// and zero if that is unknown. It is the at of documents that show this
	// state: it must not be later than any change that they do not show. A
	// time in the future counts as unknown.
	LastModified time.Time

	// Version is opaque and differs between any two different states.
	// Stores move it exactly when something in the range changes; it may
	// move more often, at the price of rendering again. If it is empty,
	// nothing is known.
	Version string
}

// Cutter is a Provider that finds page boundaries without walking over every
// resource. Without it the set is walked.
type Cutter interface {
	// Cuts divides the set into pages of about every resources (at least
	// one), keeping of previous, the result of an earlier call with the same
	// every or nil, what still fits: a page that has outgrown its limit is
	// divided, small neighbours are joined, nothing else moves. The last cut
	// has Key "". A set with no resources has one page.
	Cuts(ctx context.Context, previous []Cut, every int) ([]Cut, error)
}

// A Cut ends a page of an indexed Resource List. The page holds the keys from
// the Key of the cut before it, included, to Key, not included.
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
	// are dropped. The Datetime of the oldest change will do, too, unless
	// others of the same Datetime have been dropped: of a Changer that is no
	// [Windower], changes at exactly Since are published as well.
	Since(ctx context.Context) (time.Time, error)

	// Changes yields, in forward chronological order, the changes whose
	// Datetime is in iv, after its From and up to its Until, by the contract
	// of [Provider]. In SQL: WHERE datetime > from AND datetime <= until, and
	// without the bound that is zero. Destinations know
	// URIs, not keys: a resource that moves to another URI is deleted at
	// the one and created at the other, and when it leaves a URI that
	// another resource has as well, that one is created there again.
	Changes(ctx context.Context, iv Interval) iter.Seq2[Change, error]
}

// Windower is a Changer that divides its journal itself. Without it the
// journal is walked once and its windows are remembered.
type Windower interface {
	// Windows returns the intervals of the set's Change Lists of at most max
	// changes each, in order: each begins where the one before it ends, the
	// first at Since, and only the last is open. A closed window never
	// changes again: every later change has a Datetime after its Until.
	Windows(ctx context.Context, max int) ([]Interval, error)
}

// Sealer is a Windower that remembers where the packages of a Change Dump end. With
// it the last changes are dumped even if no later change comes.
type Sealer interface {
	// Seals returns the ends of packages that are after a time, in order.
	Seals(ctx context.Context, after time.Time) ([]time.Time, error)

	// Seal records that a package ends at newest, the Datetime of the newest change.
	// If there is a later change, it does nothing. A recorded end stays until Since
	// has reached it.
	Seal(ctx context.Context, newest time.Time) error
}

// Opener is a Provider that has the resources' bytes. It gives the set a
// Resource Dump.
type Opener interface {
	// Open opens the representation of r for reading: the bytes that r's
	// Length and Hashes describe. r is as Resources yields it, but may lack
	// its Links and Attrs. If the bytes are no longer to be had, the error is
	// io/fs.ErrNotExist.
	Open(ctx context.Context, r Resource) (io.ReadCloser, error)
}

// Checksummer is an [Opener] or a [ChangeOpener] that knows the checksums of what
// it opens. A package states the checksum of each bitstream before its bytes, so
// without a Checksummer each is read twice the first time that it is sent.
type Checksummer interface {
	// Checksum returns the CRC-32, by the polynomial of IEEE 802.3, of the
	// bytes that r's Length and Hashes describe, reading none of them. If it
	// does not know, the error is errors.ErrUnsupported, and the bytes are
	// read when they are sent.
	Checksum(ctx context.Context, r Resource) (crc32 uint32, err error)
}

// ChangeOpener is a Provider that has the bytes of past versions. It gives a set
// with a journal a Change Dump. If it has them for a shorter time than the journal
// goes back and is no [Changer] itself, it may have Since as a Changer has it, to
// say from when on.
type ChangeOpener interface {
	// OpenChange opens the representation as it was after c, which is as
	// Changes yields it but for the Links and Attrs of its Resource, which may
	// be missing. If it is not to be had, the error is io/fs.ErrNotExist.
	OpenChange(ctx context.Context, c Change) (io.ReadCloser, error)
}

// PatchOpener is a [ChangeOpener] that has the bytes of patches: of what the links
// with [RelPatch] of a changed Resource lead to, the difference from the version
// before (section 14.4). The packages of a Change Dump hold them beside the versions
// themselves. Without it, such links are left out of manifests, where they must say
// where in the package the patch is.
type PatchOpener interface {
	// OpenPatch opens the patch that link, one of the Links of c's Resource,
	// leads to: the bytes that its Length and Hashes describe. c is as for
	// OpenChange. What a change links is to be had for as long as its version
	// is; if it is not to be had, the error is io/fs.ErrNotExist.
	OpenPatch(ctx context.Context, c Change, link Link) (io.ReadCloser, error)
}

// Watcher is a Provider that tells of changes at once. Without it the set is
// looked at from time to time.
type Watcher interface {
	// Watch calls wake whenever the set may have changed, at least once
	// after each change, until ctx is done or watching fails. wake returns
	// at once and may be called from any goroutine.
	Watch(ctx context.Context, wake func()) error
}

// Coverer is a Provider that knows which URLs belong to its set.
type Coverer interface {
	// Covers reports whether the resource at u is covered by the set's
	// capabilities (section 6.3.3). u is the URL of a request: its path and
	// query are set, its scheme and host may not be.
	Covers(u *url.URL) bool
}
