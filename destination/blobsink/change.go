package blobsink

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/digest"
)

// A change is an upload of a text or a file, or a deletion.
type change struct {
	resourcesync.Change
	deletes bool
	text    []byte
	file    string // its name, or ""
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
	if _, hashes, err := digest.Of(content, nil); err != nil {
		return wrap(key, failure)
	} else if !digest.Agree(hashes, c.Resource.Hashes) {
		return foreign(key)
	}
	return nil
}

func foreign(key string) error {
	return &destination.ForeignError{Key: key, Name: strconv.Quote(key), Kind: "an object"}
}

// upload stores the content of c. If it cannot be read completely, the object stays unchanged.
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
