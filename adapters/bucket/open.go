package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/resourcesync-go/resourcesync"
)

// Open implements [resourcesync.Opener]: it opens the object of r for reading. If the
// object is gone, or r's Stamp names another version, the error is [fs.ErrNotExist]. The
// result is also an io.Seeker: a read at another offset is a request for a range, of the
// same version.
func (b *Bucket) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	v, ok := parseVersion(r.Stamp)
	if !ok {
		return nil, fmt.Errorf("bucket: resource %q has no stamp of a scan: %w", r.Key, fs.ErrNotExist)
	}
	c := &content{ctx: ctx, bucket: b, key: r.Key, version: v}
	if err := c.open(); err != nil {
		return nil, err
	}
	return c, nil
}

// content is a version of an object.
type content struct {
	ctx     context.Context
	bucket  *Bucket
	key     string
	version version

	at     int64        // the offset of the next read
	reader *blob.Reader // at that offset; nil if it must be opened
}

// open opens the reader at the offset.
func (c *content) open() error {
	o := &blob.ReaderOptions{
		BeforeRead: func(as func(any) bool) error { return c.bucket.options.Service.BeforeRead(as, c.version.etag) },
	}
	r, err := c.bucket.bucket.NewRangeReader(c.ctx, c.key, c.at, -1, o)
	if err != nil {
		return openError(c.key, err)
	}
	if r.Size() != c.version.size || !isSameTime(r.ModTime(), c.version.modified) {
		r.Close()
		return notExist(c.key, errChanged)
	}
	c.reader = r
	return nil
}

var errChanged = errors.New("it has changed since it was listed")

// isSameTime compares times of which one may be in whole seconds, as in HTTP.
func isSameTime(a, b time.Time) bool {
	if a.Nanosecond() == 0 || b.Nanosecond() == 0 {
		a, b = a.Truncate(time.Second), b.Truncate(time.Second)
	}
	return a.Equal(b)
}

func notExist(key string, err error) error {
	return fmt.Errorf("bucket: object %q: %w (%w)", key, fs.ErrNotExist, err)
}

func openError(key string, err error) error {
	switch gcerrors.Code(err) {
	case gcerrors.NotFound, gcerrors.FailedPrecondition:
		return notExist(key, err)
	case gcerrors.PermissionDenied:
		return fmt.Errorf("bucket: object %q: %w (%w)", key, fs.ErrPermission, err)
	}
	return fmt.Errorf("bucket: object %q: %w", key, err)
}

func (c *content) Read(p []byte) (int, error) {
	if c.at >= c.version.size {
		return 0, io.EOF
	}
	if c.reader == nil {
		if err := c.open(); err != nil {
			return 0, err
		}
	}
	n, err := c.reader.Read(p)
	c.at += int64(n)
	if err == io.EOF && c.at < c.version.size {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Seek implements io.Seeker. It requests nothing.
func (c *content) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += c.at
	case io.SeekEnd:
		offset += c.version.size
	}
	if offset < 0 {
		return 0, fmt.Errorf("bucket: object %q: negative offset %d", c.key, offset)
	}
	if offset != c.at {
		c.Close()
		c.at = offset
	}
	return offset, nil
}

func (c *content) Close() error {
	if c.reader == nil {
		return nil
	}
	err := c.reader.Close()
	c.reader = nil
	return err
}
