package objectstore

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/resourcesync-go/resourcesync/static"
)

// ErrCondition means that an object is not, or no longer, as the [Condition] of a request
// requires.
var ErrCondition = static.ErrChanged

// ErrTooLarge means that an object is larger than its store takes in one request.
var ErrTooLarge = errors.New("it is too large for the bucket")

// A Client sends the requests to one bucket. Package s3bucket has one for stores with the API of S3,
// and azurebucket one for Azure Blob Storage. A Client is safe for concurrent use.
//
// If a bucket does not have an object, the error of Head and Get is fs.ErrNotExist.
type Client interface {
	Head(ctx context.Context, key string) (Object, error)
	Get(ctx context.Context, key string) (io.ReadCloser, Object, error)

	// MaxSize returns the size of the largest object that Put can store, in bytes.
	MaxSize() int64

	// Put stores size bytes of body, which is at its beginning, and returns the entity tag of
	// the new object. If the condition is not met, the error is ErrCondition; it is
	// errors.ErrUnsupported if the store rejects all conditions.
	Put(ctx context.Context, key string, body io.ReadSeeker, size int64, h Header, c Condition) (etag string, err error)

	// Delete deletes the object if it has the entity tag, as far as the store knows this
	// condition. An object that does not exist is not an error.
	Delete(ctx context.Context, key, etag string) error

	// List yields the objects whose keys begin with prefix and have no slash after it. Their
	// Digest is empty.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
}

// An Object is what a store states about an object.
type Object struct {
	Key    string
	Size   int64  // in bytes
	ETag   string // without quotes
	Digest string // of the Header with which it was stored; empty if another program has stored it
}

// A Header is what is stored with an object.
type Header struct {
	Type, Encoding, CacheControl string // values of HTTP headers; may be empty

	// Digest identifies the content and the headers. It is metadata with the name [DigestName].
	Digest string
}

// DigestName is the name of the metadata that only objects of a [Store] have.
const DigestName = "resourcesyncdigest"

// A Condition is the condition of a Put. The zero value is none.
type Condition struct {
	IfNone  bool   // there is no object
	IfMatch string // the object exists and has this entity tag; may be empty
}
