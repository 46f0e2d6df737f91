// Package blobsink keeps the copy of a Source in a bucket: in Amazon S3, Google Cloud
// Storage, Azure Blob Storage, or any other store with a driver for [gocloud.dev/blob]. A
// program links only the driver with which it opens the bucket.
//
//	sink, err := blobsink.New(ctx, bucket)
//	...
//	defer sink.Close()
//	d, err := destination.New("https://example.org/", sink, &destination.Options{State: "/var/lib/copy"})
//
// The name of an object is the Key of its resource, and its media type is that of the
// resource, or else one that its first bytes suggest. An object is always whole: stores show
// the content of an upload only once all of it has arrived, and a Destination verifies it before.
// Small resources are uploaded beside each other, up to 16 at a time.
package blobsink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination"
)

const (
	// marker is the name of the object that makes a bucket one of copies. No resource has
	// this name.
	marker     = ".resourcesync"
	markerText = "This bucket has the copy of a ResourceSync Source. Objects that you add or change here may be lost.\n"

	// uploads is the number of uploads at a time.
	uploads = 16
)

// A Sink is a [destination.Sink], [destination.Flusher] and [destination.Verifier] that
// keeps each resource in an object of a bucket.
type Sink struct {
	bucket *blob.Bucket

	// Since the last Flush:
	ctx     context.Context // of running uploads and deletions
	stop    context.CancelFunc
	running *errgroup.Group
	keys    map[string]bool // that they change
}

var (
	_ destination.Sink     = (*Sink)(nil)
	_ destination.Flusher  = (*Sink)(nil)
	_ destination.Verifier = (*Sink)(nil)
)

// New returns a Sink for b. It marks an empty bucket as one of copies, with an object
// ".resourcesync", and refuses a bucket that has objects without this mark, so that no other
// objects are lost. b can be a part of a bucket ([blob.PrefixedBucket]). ctx applies to New
// alone. The caller closes the Sink, and b after it.
func New(ctx context.Context, b *blob.Bucket) (*Sink, error) {
	if err := claim(ctx, b); err != nil {
		return nil, fmt.Errorf("blobsink: %w", err)
	}
	s := &Sink{bucket: b}
	s.begin()
	return s, nil
}

// claim makes b a bucket for copies.
func claim(ctx context.Context, b *blob.Bucket) error {
	claimed, err := b.Exists(ctx, marker)
	if err != nil || claimed {
		return err
	}
	first, _, err := b.ListPage(ctx, blob.FirstPageToken, 1, nil)
	if err != nil {
		return err
	}
	if len(first) > 0 {
		return fmt.Errorf("the bucket has objects, such as %q, and no copy was made in it before; use an empty bucket or a prefix without objects", first[0].Key)
	}
	return b.WriteAll(ctx, marker, []byte(markerText), &blob.WriterOptions{ContentType: "text/plain"})
}

// begin prepares for uploads after the last Flush.
func (s *Sink) begin() {
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.running = new(errgroup.Group)
	s.running.SetLimit(uploads)
	s.keys = make(map[string]bool)
}

// Close aborts uploads that are not flushed.
func (s *Sink) Close() error {
	s.stop()
	_ = s.running.Wait()
	return nil
}

// Put implements [destination.Sink]. A small resource may be uploaded after Put has
// returned, until the next Flush.
func (s *Sink) Put(ctx context.Context, c resourcesync.Change, content io.Reader) error {
	if err := s.changes(ctx, c.Resource.Key); err != nil {
		return err
	}
	if file, large := content.(*os.File); large {
		return s.upload(ctx, c.Resource, file)
	}
	text, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	ctx = s.ctx
	s.running.Go(func() error { return s.uploadSmall(ctx, c.Resource, text) })
	return nil
}

// Delete implements [destination.Sink].
func (s *Sink) Delete(ctx context.Context, c resourcesync.Change) error {
	key := c.Resource.Key
	if err := s.changes(ctx, key); err != nil {
		return err
	}
	ctx = s.ctx
	s.running.Go(func() error {
		err := s.bucket.Delete(ctx, key)
		if gcerrors.Code(err) == gcerrors.NotFound {
			return nil
		}
		return wrap(key, err)
	})
	return nil
}

// changes notes that the object at key is about to be changed. An earlier change of it comes
// first.
func (s *Sink) changes(ctx context.Context, key string) error {
	if s.keys[key] {
		if err := s.Flush(ctx); err != nil {
			return err
		}
	}
	s.keys[key] = true
	return nil
}

// Flush implements [destination.Flusher].
func (s *Sink) Flush(ctx context.Context) error {
	release := context.AfterFunc(ctx, s.stop)
	err := s.running.Wait()
	if !release() && err == nil {
		err = context.Cause(ctx)
	}
	s.stop()
	s.begin()
	return err
}

// uploadSmall replaces the object of r by content in memory.
func (s *Sink) uploadSmall(ctx context.Context, r resourcesync.Resource, content []byte) error {
	o := options(r)
	if o.ContentType == "" {
		o.ContentType = http.DetectContentType(content)
	}
	return wrap(r.Key, s.bucket.Upload(ctx, r.Key, bytes.NewReader(content), o))
}

// upload replaces the object of r. If content cannot be read completely, the object stays as
// it is.
func (s *Sink) upload(ctx context.Context, r resourcesync.Resource, content io.Reader) error {
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	w, err := s.bucket.NewWriter(ctx, r.Key, options(r))
	if err != nil {
		return wrap(r.Key, err)
	}
	if _, err := io.Copy(w, content); err != nil {
		abort() // so that Close discards what has been written
		w.Close()
		return wrap(r.Key, err)
	}
	return wrap(r.Key, w.Close())
}

// options returns how the object of r is stored.
func options(r resourcesync.Resource) *blob.WriterOptions {
	o := &blob.WriterOptions{ContentEncoding: r.Encoding}
	if _, _, err := mime.ParseMediaType(r.Type); err == nil {
		o.ContentType = r.Type
	}
	return o
}

// Open implements [destination.Verifier].
func (s *Sink) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	content, err := s.bucket.NewReader(ctx, r.Key, nil)
	if err != nil {
		return nil, wrap(r.Key, err)
	}
	return content, nil
}

// wrap adds the name of the object to an error, and fs.ErrNotExist if it does not exist.
func wrap(key string, err error) error {
	if err == nil {
		return nil
	}
	if gcerrors.Code(err) == gcerrors.NotFound {
		err = errors.Join(fs.ErrNotExist, err)
	}
	return fmt.Errorf("blobsink: object %q: %w", key, err)
}
