package azurebucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	azblob "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
)

// Objects is the [objectstore.Client] of a container. The client's credentials need the role
// Storage Blob Data Contributor, or a SAS with the permissions to read, add, create, write, delete
// and list. The client must have a [Transport].
type Objects struct{ Client *container.Client }

var _ objectstore.Client = Objects{}

// Head implements [objectstore.Client].
func (b Objects) Head(ctx context.Context, key string) (objectstore.Object, error) {
	out, err := b.Client.NewBlobClient(key).GetProperties(ctx, nil)
	if err != nil {
		return objectstore.Object{}, translate(err)
	}
	return objectOf(key, out.ContentLength, out.ETag, out.Metadata), nil
}

// Get implements [objectstore.Client].
func (b Objects) Get(ctx context.Context, key string) (io.ReadCloser, objectstore.Object, error) {
	out, err := b.Client.NewBlobClient(key).DownloadStream(ctx, nil)
	if err != nil {
		return nil, objectstore.Object{}, translate(err)
	}
	return out.Body, objectOf(key, out.ContentLength, out.ETag, out.Metadata), nil
}

func objectOf(key string, size *int64, etag *azcore.ETag, metadata map[string]*string) objectstore.Object {
	o := objectstore.Object{Key: key}
	if size != nil {
		o.Size = *size
	}
	if etag != nil {
		o.ETag = strings.Trim(string(*etag), `"`)
	}
	for name, value := range metadata { // the client changes the case of names
		if strings.EqualFold(name, objectstore.DigestName) && value != nil {
			o.Digest = *value
		}
	}
	return o
}

// MaxSize implements [objectstore.Client]: 5,000 MiB, which Azure takes in one request.
func (b Objects) MaxSize() int64 { return 5000 << 20 }

// Put implements [objectstore.Client]: in one request.
func (b Objects) Put(ctx context.Context, key string, body io.ReadSeeker, _ int64, h objectstore.Header, c objectstore.Condition) (string, error) {
	o := &blockblob.UploadOptions{
		HTTPHeaders: &azblob.HTTPHeaders{BlobContentType: &h.Type, BlobContentEncoding: &h.Encoding, BlobCacheControl: &h.CacheControl},
		Metadata:    map[string]*string{objectstore.DigestName: &h.Digest},
	}
	switch {
	case c.IfNone:
		o.AccessConditions = &azblob.AccessConditions{ModifiedAccessConditions: &azblob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}}
	case c.IfMatch != "":
		o.AccessConditions = ifMatch(c.IfMatch)
	}
	out, err := b.Client.NewBlockBlobClient(key).Upload(ctx, streaming.NopCloser(body), o)
	if err != nil {
		return "", translate(err)
	}
	return objectOf(key, nil, out.ETag, nil).ETag, nil
}

func ifMatch(etag string) *azblob.AccessConditions {
	return &azblob.AccessConditions{ModifiedAccessConditions: &azblob.ModifiedAccessConditions{IfMatch: to.Ptr(azcore.ETag(`"` + etag + `"`))}}
}

// Delete implements [objectstore.Client].
func (b Objects) Delete(ctx context.Context, key, etag string) error {
	_, err := b.Client.NewBlobClient(key).Delete(ctx, &azblob.DeleteOptions{AccessConditions: ifMatch(etag)})
	if err = translate(err); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// List implements [objectstore.Client].
func (b Objects) List(ctx context.Context, prefix string) iter.Seq2[objectstore.Object, error] {
	return func(yield func(objectstore.Object, error) bool) {
		pages := b.Client.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{Prefix: &prefix})
		for pages.More() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(objectstore.Object{}, translate(err))
				return
			}
			for _, item := range page.Segment.BlobItems {
				if item.Name == nil || item.Properties == nil {
					continue
				}
				if !yield(objectOf(*item.Name, item.Properties.ContentLength, item.Properties.ETag, nil), nil) {
					return
				}
			}
		}
	}
}

// An answerError is the error in a response. Its text has one line and no IDs of requests, so that
// a log can see that an error repeats.
type answerError struct {
	text string
	err  error
}

func (e *answerError) Error() string { return e.text }
func (e *answerError) Unwrap() error { return e.err }

// translate converts an error to one that package objectstore knows.
func translate(err error) error {
	response, ok := errors.AsType[*azcore.ResponseError](err)
	if !ok {
		return err
	}
	err = &answerError{fmt.Sprintf("Azure answered %d %s", response.StatusCode, cmp.Or(response.ErrorCode, http.StatusText(response.StatusCode))), err}
	switch {
	case response.StatusCode == http.StatusNotFound && response.ErrorCode != "ContainerNotFound":
		return fmt.Errorf("%w (%w)", fs.ErrNotExist, err)
	case response.StatusCode == http.StatusPreconditionFailed, response.ErrorCode == "BlobAlreadyExists":
		return fmt.Errorf("%w (%w)", objectstore.ErrCondition, err)
	}
	return err
}
