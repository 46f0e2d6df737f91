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
// Resources are uploaded beside each other, up to 16 at a time.
//
// Others may write to the bucket, too. The Destination records an object of its own before it is
// uploaded, and one that is new is uploaded on the condition that none with its name exists. Stores that do
// not know this condition are asked for the object just before. Objects of others are never
// replaced or deleted.
package blobsink

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
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

// A change is an upload of a text or a file, or a deletion.
type change struct {
	resourcesync.Change
	deletes bool
	text    []byte
	file    string // its name, or ""
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

// mark writes the object that makes b a bucket for copies, unless there is one and isNew is set. If a
// store ignores that, it ignores the condition of others, too.
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

// change makes a change.
func (s *Sink) change(ctx context.Context, c *change) error {
	key := c.Resource.Key
	if c.deletes {
		err := s.bucket.Delete(ctx, key)
		if gcerrors.Code(err) == gcerrors.NotFound {
			return nil
		}
		return wrap(key, err)
	}
	isNew := c.Type == resourcesync.Created
	if isNew && !s.conditional {
		exists, err := s.bucket.Exists(ctx, key)
		if err != nil {
			return wrap(key, err)
		}
		if exists {
			return foreign(key)
		}
	}
	o := options(c.Resource)
	o.IfNotExist = isNew && s.conditional
	err := c.upload(ctx, s.bucket, o)
	switch {
	case err == nil || !o.IfNotExist:
		return wrap(key, err)
	case gcerrors.Code(err) == gcerrors.FailedPrecondition:
		return foreign(key)
	}
	return s.uncertain(ctx, c, err)
}

// uncertain returns the result of a conditional upload whose answer was not received. A store can refuse
// a large object by closing the connection, so another object may be there; or the connection
// has broken after the object was stored.
func (s *Sink) uncertain(ctx context.Context, c *change, failure error) error {
	key := c.Resource.Key
	content, err := s.bucket.NewReader(ctx, key, nil)
	if err != nil {
		return wrap(key, failure)
	}
	defer content.Close()
	if resourcesync.Bytes(content.Size()) != c.Resource.Length {
		return foreign(key)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, content); err != nil {
		return wrap(key, failure)
	}
	if !fetch.Agree([]resourcesync.Hash{{Algorithm: "sha-256", Digest: hex.EncodeToString(sum.Sum(nil))}}, c.Resource.Hashes) {
		return foreign(key)
	}
	return nil
}

func foreign(key string) error {
	return &destination.ForeignError{Key: key, Name: strconv.Quote(key), Kind: "an object"}
}

// upload stores the content of c. If it cannot be read completely, the object stays as it is.
func (c *change) upload(ctx context.Context, b *blob.Bucket, o *blob.WriterOptions) error {
	content, begin := io.ReadSeeker(bytes.NewReader(c.text)), c.text
	if c.file != "" {
		file, err := os.Open(c.file)
		if err != nil {
			return err
		}
		defer file.Close()
		begin = make([]byte, sniffed)
		n, err := io.ReadFull(file, begin)
		if err != nil && err != io.ErrUnexpectedEOF {
			return err
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		content, begin = file, begin[:n]
	}
	if o.ContentType == "" {
		o.ContentType = http.DetectContentType(begin)
	}
	return b.Upload(ctx, c.Resource.Key, content, o)
}

// discard removes the file with the content.
func (c *change) discard() error {
	if c.file == "" {
		return nil
	}
	return os.Remove(c.file)
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
