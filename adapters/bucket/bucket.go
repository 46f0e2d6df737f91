// Package bucket publishes the objects of a bucket: in Amazon S3 and stores with its API,
// in Google Cloud Storage, in Azure Blob Storage, or in any other store with a driver for
// [gocloud.dev/blob]. A program links only the driver with which it opens the bucket.
//
//	objects, err := bucket.New(opened, "https://data.example.org/{key}", &bucket.Options{
//		Store: s3bucket.Store{},
//		Set:   set, // of a sqlstore.Store
//	})
//	...
//	result, err := set.Scan(ctx, objects.Resources(ctx))
//
// A scan lists the bucket and compares the listing with the set. It reads no object. An
// object has changed if its length, its time or its entity tag has. The set is the
// Provider of the Source, and the Bucket is its Opener, which reads objects for the
// packages of a dump:
//
//	rshttp.Set{Provider: set, Opener: objects}
//
// # Listed objects
//
// The URI of an object follows from a template, with which the store or a content delivery
// network makes it available. By default, New trusts no bucket to be public: a scan
// sends a HEAD request without credentials to the URI of each new or changed object, and
// does not list those that are not readable. Permissions change without a trace in the
// listing, so each listed object is asked for again from time to time.
//
// Some objects cannot be listed: those whose names are longer than [resourcesync.MaxKeyLength]
// or have a segment "." or "..", which clients remove from a URL, and those whose names the
// driver does not read as they are, with control characters for example, or with a percent
// sign in Azure. Names that end in a slash are markers of empty folders.
//
// # Folders
//
// The driver fileblob can be used for tests. It skips unreadable files, as if they did
// not exist, and reads the whole folder again for each thousand files. Package dir is the
// adapter for folders.
package bucket

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"gocloud.dev/blob"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/health"
)

// A Store supplies properties of one kind of store that [gocloud.dev/blob] hides; s3bucket.Store is
// one. Without a Store, versions differ only by their length and time, and no MD5 is
// published.
type Store interface {
	// ETag returns the entity tag of a listed object as HTTP has it, with quotes, and its
	// name in the store. Either is empty if it is unknown.
	ETag(o *blob.ListObject) (etag, name string)

	// Reads reports whether the driver reads the object with this name in the store.
	// Drivers escape some characters, and then read an object with another name.
	Reads(name string) bool

	// BeforeList prepares a request of a listing, limits its response to MaxListing bytes as
	// far as the driver allows, and returns the continuation token of the request, if there
	// is one. as is the argument of [blob.ListOptions].BeforeList.
	BeforeList(as func(any) bool) (token string)

	// BeforeRead prepares a read. Unless etag is empty, the read fails with the code
	// FailedPrecondition if the object has another entity tag. as is the argument of
	// [blob.ReaderOptions].BeforeRead.
	BeforeRead(as func(any) bool, etag string) error

	// MD5 returns the MD5 of an object if the store vouches for it, and otherwise nil.
	// answer is the header of the response to an anonymous HEAD request for the object,
	// or nil if there was none.
	MD5(o *blob.ListObject, etag string, answer http.Header) []byte
}

// MaxListing is the maximum size of the response to a request of a listing, in bytes. A thousand
// objects take about 1 MB.
const MaxListing = 32 << 20

// A Set is the set that a Bucket is compared with, for example a
// *sqlstore.Set.
type Set interface {
	// Known returns the resources with these keys, in the same order; a zero
	// Resource means that there is none.
	Known(ctx context.Context, keys []string) ([]resourcesync.Resource, error)

	// Withdraw removes resources from the lists at once. It may publish their
	// deletions later, in case too many objects become private at once.
	Withdraw(ctx context.Context, keys ...string) error
}

// Options configure [New]. Only Set is mandatory.
type Options struct {
	// Set is the set that scans fill.
	Set Set

	// Store knows the kind of the store. It may be nil.
	Store Store

	// Prefix is the beginning of the names of the published objects. It is not part of
	// the key of a resource, nor of its URI unless the template contains it.
	Prefix string

	// Private lists objects without asking whether they are readable without
	// credentials. Their entries then have no media type and no MD5, because these need
	// the response to that request.
	Private bool

	// VerifyEvery is the time within which each listed object is asked for again. If
	// zero, it is 7 days; if negative, objects are asked for only when they have changed.
	VerifyEvery time.Duration

	// Transport sends the anonymous requests, at most 16 at a time. If nil,
	// http.DefaultTransport is used.
	Transport http.RoundTripper

	// UserAgent is the User-Agent of these requests.
	UserAgent string

	// Progress is called about four times per second during a complete scan, and at its
	// end. It must not block.
	Progress func(Progress)

	// Logger receives reports about objects that are not listed. If nil, slog.Default()
	// is used.
	Logger *slog.Logger
}

// Progress is the progress of a scan.
type Progress struct {
	Listed  int64 // objects that are listed
	Private int64 // that are not, because they cannot be read without credentials
	Skipped int64 // that are not, because of their names
	Failed  int64 // whose anonymous requests failed; they stay as they are
}

// A Bucket is a bucket whose objects are published. It is a scanner and a
// [resourcesync.Opener]. All methods are safe for concurrent use, except that one complete
// scan runs at a time.
type Bucket struct {
	bucket   *blob.Bucket
	template template
	options  Options
	client   *http.Client
	log      *slog.Logger
	skips    health.Rounds // names that cannot be listed
	notices  notices

	mu       sync.Mutex
	withheld withheld  // by the last complete scan
	verified time.Time // up to when listed objects have been asked for again
}

var _ resourcesync.Opener = (*Bucket)(nil)

// verifyEvery is the default of Options.VerifyEvery.
const verifyEvery = 7 * 24 * time.Hour

// New returns a Bucket. template is the URI of the objects, with {key} in place of the
// name of the object. Names are percent-encoded, except for their slashes:
//
//	https://data.example.org/{key}
//
// The caller closes b after the last use of the Bucket.
func New(b *blob.Bucket, template string, opts *Options) (*Bucket, error) {
	if opts == nil || opts.Set == nil {
		return nil, errors.New("bucket: Options.Set is missing: give the set that scans fill, such as that of a sqlstore.Store")
	}
	t, err := parseTemplate(template)
	if err != nil {
		return nil, err
	}
	o := *opts
	if o.Prefix != "" {
		b = blob.PrefixedBucket(b, o.Prefix)
	}
	if o.Store == nil {
		o.Store = anyStore{}
	}
	o.VerifyEvery = cmp.Or(o.VerifyEvery, verifyEvery)
	o.Transport = cmp.Or[http.RoundTripper](o.Transport, http.DefaultTransport)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return &Bucket{
		bucket:   b,
		template: t,
		options:  o,
		log:      o.Logger,
		notices:  newNotices(),
		client: &http.Client{
			Transport:     o.Transport,
			Timeout:       checkTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// anyStore is the Store of which nothing is known.
type anyStore struct{}

func (anyStore) ETag(*blob.ListObject) (etag, name string)        { return "", "" }
func (anyStore) Reads(string) bool                                { return true }
func (anyStore) BeforeList(func(any) bool) string                 { return "" }
func (anyStore) BeforeRead(func(any) bool, string) error          { return nil }
func (anyStore) MD5(*blob.ListObject, string, http.Header) []byte { return nil }
