// Package bucket publishes the objects of a bucket: in Amazon S3 and stores with its API,
// in Google Cloud Storage, in Azure Blob Storage, or in any other store with a driver for
// [gocloud.dev/blob]. A program links only the driver with which it opens the bucket.
//
//	objects, err := bucket.New(opened, "https://data.example.org/{key}", &bucket.Options{
//		Name:  "s3://papers",
//		Service: s3bucket.Service{},
//	})
//	...
//	set, err := scan.Into(ctx, store, "papers", objects, nil)
//
// A scan lists the bucket and compares the listing with the set. It reads no object. An
// object has changed if its length, its time or its entity tag has. The Bucket is also the
// Opener of the set, which reads objects for the packages of a dump.
//
// # Listed objects
//
// The URI of an object follows from a template, with which the store or a content delivery
// network makes it available. By default, New trusts no bucket to be public: a scan sends
// a HEAD request without credentials to the URI of each new or changed object, and does
// not list those that are not readable. Permissions change without a trace in the listing,
// so each listed object is requested again from time to time.
//
// Some objects cannot be listed: those whose names are longer than [resourcesync.MaxKeyLength]
// or have a segment "." or "..", which clients remove from a URL, and those whose names the
// driver changes, such as names with control characters, or with a percent sign in Azure.
// Names that end in a slash are markers of empty folders.
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
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"gocloud.dev/blob"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/health"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A Service supplies what [gocloud.dev/blob] hides of a kind of object storage. s3bucket.Service
// is one. Without a Service, versions differ only by their length and time, and no MD5 is
// published.
type Service interface {
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

// Options are the optional arguments of [New]. The zero value is valid.
type Options struct {
	// Name names the bucket for people, such as "s3://papers". A set records it, and is
	// then not filled from another bucket. If empty, it is not recorded.
	Name string

	// Service knows the kind of object storage. It may be nil.
	Service Service

	// Prefix is the beginning of the names of the published objects. It is not part of
	// the key of a resource, nor of its URI unless the template contains it.
	Prefix string

	// Private lists objects without checking whether they are readable without
	// credentials. Their entries then have no media type and no MD5, because these need
	// the response to that request.
	Private bool

	// VerifyEvery is the time within which each listed object is requested again. If
	// zero, it is 7 days; if negative, objects are requested only when they have changed.
	VerifyEvery time.Duration

	// Transport sends the anonymous requests, at most 16 at a time. If nil,
	// http.DefaultTransport is used.
	Transport http.RoundTripper

	// UserAgent is the User-Agent of these requests.
	UserAgent string

	// Logger receives reports about objects that are not listed. If nil, slog.Default()
	// is used.
	Logger *slog.Logger
}

// A Bucket is a bucket whose objects are published. It is a [scan.Origin] and a
// [resourcesync.Opener].
type Bucket struct {
	bucket   *blob.Bucket
	template template
	options  Options
	set      scan.Stored // nil before Bind: all objects are new
	client   *http.Client
	log      *slog.Logger
	skips    health.Rounds // names that cannot be listed
	notices  notices
	progress atomic.Pointer[scan.Progress]

	mu       sync.Mutex
	withheld withheld  // by the last complete scan
	verified time.Time // up to when listed objects have been requested again
}

var (
	_ scan.Origin         = (*Bucket)(nil)
	_ scan.Binder         = (*Bucket)(nil)
	_ scan.Parter         = (*Bucket)(nil)
	_ scan.Watcher        = (*Bucket)(nil)
	_ scan.Progresser     = (*Bucket)(nil)
	_ scan.Identifier     = (*Bucket)(nil)
	_ resourcesync.Opener = (*Bucket)(nil)
)

// verifyEvery is the default of Options.VerifyEvery.
const verifyEvery = 7 * 24 * time.Hour

// New returns a Bucket. template is the URI of the objects, with {key} in place of the
// name of the object. Names are percent-encoded, except for their slashes:
//
//	https://data.example.org/{key}
//
// The caller closes b after the last use of the Bucket. opts may be nil.
func New(b *blob.Bucket, template string, opts *Options) (*Bucket, error) {
	t, err := parseTemplate(template)
	if err != nil {
		return nil, err
	}
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Prefix != "" {
		b = blob.PrefixedBucket(b, o.Prefix)
	}
	if o.Service == nil {
		o.Service = anyService{}
	}
	o.VerifyEvery = cmp.Or(o.VerifyEvery, verifyEvery)
	o.Transport = cmp.Or[http.RoundTripper](o.Transport, http.DefaultTransport)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	n := &Bucket{
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
	}
	n.progress.Store(&scan.Progress{})
	return n, nil
}

// Bind implements [scan.Binder].
func (b *Bucket) Bind(_ context.Context, set scan.Stored, _ func(context.Context, string) (scan.Stored, error)) error {
	b.set = set
	return nil
}

// Identity implements [scan.Identifier].
func (b *Bucket) Identity() scan.Identity {
	id := scan.Identity{URIs: b.template.before + variable + b.template.after}
	if b.options.Name != "" {
		id.Name = "bucket " + b.options.Name
	}
	return id
}

// anyService is the Service of an unknown store.
type anyService struct{}

func (anyService) ETag(*blob.ListObject) (etag, name string)        { return "", "" }
func (anyService) Reads(string) bool                                { return true }
func (anyService) BeforeList(func(any) bool) string                 { return "" }
func (anyService) BeforeRead(func(any) bool, string) error          { return nil }
func (anyService) MD5(*blob.ListObject, string, http.Header) []byte { return nil }
