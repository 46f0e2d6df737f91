// Package blobsink keeps the copy of a Source in a bucket: in Amazon S3, Google Cloud
// Storage, Azure Blob Storage, or any other store with a driver for [gocloud.dev/blob]. A
// program links only the driver with which it opens the bucket.
//
//	sink, err := blobsink.New(ctx, bucket)
//	...
//	defer sink.Close()
//	d, err := destination.New("https://example.org/", sink, &destination.Options{State: "/var/lib/copy"})
//
// The name of an object is the Key of its resource. It has the media type of the resource or, if
// that is unknown, one that its first bytes suggest. An object is always whole: stores show the
// content of an upload only once all of it has arrived, and a Destination verifies it before.
// Resources are uploaded beside each other, up to 16 at a time.
//
// Other programs may write to the bucket, too. The Destination records each of its objects
// before the upload, and uploads a new one on the condition that no object with its name
// exists. If a store does not support this condition, the Destination looks for the object
// just before the upload. It never replaces or deletes objects of other programs.
package blobsink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"

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
	markerText = "This bucket has the copy of a ResourceSync Source. Objects of the copy that you change are replaced.\n"

	// uploads is the number of uploads at a time.
	uploads = 16

	// sniffed is the number of bytes that tell the media type of a content.
	sniffed = 512
)

// A Sink is a [destination.Sink], [destination.Flusher], [destination.Preparer] and
// [destination.Verifier] that keeps each resource in an object of a bucket.
type Sink struct {
	bucket      *blob.Bucket
	conditional bool     // the store can upload an object only if there is none
	changes     []change // since the last Flush
}

var (
	_ destination.Sink     = (*Sink)(nil)
	_ destination.Flusher  = (*Sink)(nil)
	_ destination.Preparer = (*Sink)(nil)
	_ destination.Verifier = (*Sink)(nil)
)

// New returns a Sink for b. It marks an empty bucket as one of copies, with an object
// ".resourcesync", and refuses a bucket that has objects without this mark, which is a bucket that
// was not meant for a copy. b can be a part of a bucket ([blob.PrefixedBucket]). ctx applies to New
// alone. The caller closes the Sink, and b after it.
func New(ctx context.Context, b *blob.Bucket) (*Sink, error) {
	if err := claim(ctx, b); err != nil {
		return nil, fmt.Errorf("blobsink: %w", err)
	}
	err := mark(ctx, b, true)
	return &Sink{bucket: b, conditional: gcerrors.Code(err) == gcerrors.FailedPrecondition}, nil
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
	return mark(ctx, b, false)
}

// mark writes the object that makes b a bucket for copies, unless there is one and isNew is set. A
// store that ignores this condition also ignores the conditions of other uploads.
func mark(ctx context.Context, b *blob.Bucket, isNew bool) error {
	return b.Upload(ctx, marker, strings.NewReader(markerText), &blob.WriterOptions{ContentType: "text/plain", IfNotExist: isNew})
}

// Close discards changes that are not flushed.
func (s *Sink) Close() error { return s.discard() }

// Prepare implements [destination.Preparer].
func (s *Sink) Prepare(context.Context, destination.FolderLog) error { return s.discard() }

func (s *Sink) discard() (err error) {
	for _, c := range s.changes {
		err = errors.Join(err, c.discard())
	}
	s.changes = nil
	return err
}

// Put implements [destination.Sink].
func (s *Sink) Put(_ context.Context, c resourcesync.Change, content io.Reader) (err error) {
	held := change{Change: c}
	if file, large := content.(*os.File); large {
		held.file, err = hold(file)
	} else {
		held.text, err = io.ReadAll(content)
	}
	if err != nil {
		return fmt.Errorf("blobsink: object %q: %w", c.Resource.Key, err)
	}
	s.changes = append(s.changes, held)
	return nil
}

// hold keeps the content of file until Flush, and returns its name.
func hold(file *os.File) (name string, err error) {
	name = file.Name() + ".upload"
	if runtime.GOOS != "windows" && os.Rename(file.Name(), name) == nil {
		return name, nil
	}
	to, err := os.CreateTemp("", "resourcesync-*.upload")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, file)
	if err = errors.Join(err, to.Close()); err != nil {
		os.Remove(to.Name())
	}
	return to.Name(), err
}

// Delete implements [destination.Sink].
func (s *Sink) Delete(_ context.Context, c resourcesync.Change) error {
	s.changes = append(s.changes, change{Change: c, deletes: true})
	return nil
}

// Flush implements [destination.Flusher].
func (s *Sink) Flush(ctx context.Context) error {
	var foreign []error
	for rest := s.changes; len(rest) > 0; {
		n := distinct(rest)
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(uploads)
		errs := make([]error, n)
		for i, c := range rest[:n] {
			group.Go(func() error {
				err := s.change(ctx, &c)
				if _, ok := errors.AsType[*destination.ForeignError](err); ok {
					errs[i], err = err, nil
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		foreign = append(foreign, errs...)
		rest = rest[n:]
	}
	return errors.Join(append(foreign, s.discard())...)
}

// distinct returns the number of changes from the first on that are of different objects.
func distinct(changes []change) int {
	keys := make(map[string]bool, len(changes))
	for i, c := range changes {
		if keys[c.Resource.Key] {
			return i
		}
		keys[c.Resource.Key] = true
	}
	return len(changes)
}

// Open implements [destination.Verifier].
func (s *Sink) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	content, err := s.bucket.NewReader(ctx, r.Key, nil)
	if err != nil {
		return nil, wrap(r.Key, err)
	}
	return content, nil
}

// Identify implements [destination.Verifier]: by entity tags, if the store has them.
func (s *Sink) Identify(ctx context.Context, keys []string) ([]string, error) {
	identities := make([]string, len(keys))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(uploads)
	for i, key := range keys {
		group.Go(func() error {
			object, err := s.bucket.Attributes(ctx, key)
			switch {
			case err == nil:
				identities[i] = cmp.Or(object.ETag, fmt.Sprint(object.Size, object.ModTime.UnixNano()))
			case gcerrors.Code(err) != gcerrors.NotFound:
				return wrap(key, err)
			}
			return nil
		})
	}
	return identities, group.Wait()
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
