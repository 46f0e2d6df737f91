package s3bucket

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
)

// Objects is the [objectstore.Client] of a bucket. The client's credentials need the permissions
// s3:ListBucket, without which S3 does not say that an object does not exist, s3:GetObject,
// s3:PutObject and s3:DeleteObject.
type Objects struct {
	Client *s3.Client
	Bucket string
}

var _ objectstore.Client = Objects{}

// Head implements [objectstore.Client].
func (b Objects) Head(ctx context.Context, key string) (objectstore.Object, error) {
	out, err := b.Client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.Bucket, Key: &key})
	if err != nil {
		return objectstore.Object{}, translate(err)
	}
	if out.ContentLength == nil {
		return objectstore.Object{}, errNoLength
	}
	return objectOf(key, out.ContentLength, out.ETag, out.Metadata), nil
}

// Get implements [objectstore.Client].
func (b Objects) Get(ctx context.Context, key string) (io.ReadCloser, objectstore.Object, error) {
	out, err := b.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Bucket, Key: &key}, withoutWarnings)
	if err != nil {
		return nil, objectstore.Object{}, translate(err)
	}
	if out.ContentLength == nil {
		out.Body.Close()
		return nil, objectstore.Object{}, errNoLength
	}
	return out.Body, objectOf(key, out.ContentLength, out.ETag, out.Metadata), nil
}

// errNoLength means that a store or a proxy does not send an object as it is stored. Google Cloud
// Storage decompresses objects with Content-Encoding: gzip for clients that do not accept it.
var errNoLength = errors.New("the store does not state the length of the object, which it may have decompressed")

func objectOf(key string, size *int64, etag *string, metadata map[string]string) objectstore.Object {
	return objectstore.Object{Key: key, Size: aws.ToInt64(size), ETag: strings.Trim(aws.ToString(etag), `"`), Digest: metadata[objectstore.DigestName]}
}

// MaxSize implements [objectstore.Client]: 5 GiB, which S3 takes in one request.
func (b Objects) MaxSize() int64 { return 5 << 30 }

// Put implements [objectstore.Client]: in one request, so that an upload that breaks off leaves
// nothing behind.
func (b Objects) Put(ctx context.Context, key string, body io.ReadSeeker, size int64, h objectstore.Header, c objectstore.Condition) (string, error) {
	sum := md5.New()
	if _, err := io.Copy(sum, body); err != nil {
		return "", err
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	in := &s3.PutObjectInput{
		Bucket: &b.Bucket, Key: &key, Body: body, ContentLength: &size, ContentType: orNil(h.Type), ContentEncoding: orNil(h.Encoding),
		ContentMD5:   aws.String(base64.StdEncoding.EncodeToString(sum.Sum(nil))), // buckets with Object Lock require a checksum
		CacheControl: orNil(h.CacheControl), Metadata: map[string]string{objectstore.DigestName: h.Digest},
	}
	if c.IfNone {
		in.IfNoneMatch = aws.String("*")
	}
	if c.IfMatch != "" {
		in.IfMatch = quoted(c.IfMatch)
	}
	out, err := b.Client.PutObject(ctx, in, limitedResponse, withoutTrailer)
	if err = translate(err); c.IfMatch != "" && errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w (%w)", objectstore.ErrCondition, err)
	}
	if err != nil {
		return "", err
	}
	return strings.Trim(aws.ToString(out.ETag), `"`), nil
}

// Delete implements [objectstore.Client]. Stores that do not know the condition of a deletion delete
// the object.
func (b Objects) Delete(ctx context.Context, key, etag string) error {
	in := &s3.DeleteObjectInput{Bucket: &b.Bucket, Key: &key, IfMatch: quoted(etag)}
	_, err := b.Client.DeleteObject(ctx, in, limitedResponse)
	if err = translate(err); errors.Is(err, errors.ErrUnsupported) {
		in.IfMatch = nil
		_, err = b.Client.DeleteObject(ctx, in, limitedResponse)
		err = translate(err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

var errUnfinished = errors.New("the store says that its listing continues, but gives no new continuation token")

// List implements [objectstore.Client].
func (b Objects) List(ctx context.Context, prefix string) iter.Seq2[objectstore.Object, error] {
	return func(yield func(objectstore.Object, error) bool) {
		in := &s3.ListObjectsV2Input{Bucket: &b.Bucket, Prefix: &prefix, Delimiter: aws.String("/")}
		for {
			page, err := b.Client.ListObjectsV2(ctx, in, limitedResponse)
			if err != nil {
				yield(objectstore.Object{}, translate(err))
				return
			}
			for _, o := range page.Contents {
				if !yield(objectOf(aws.ToString(o.Key), o.Size, o.ETag, nil), nil) {
					return
				}
			}
			if !aws.ToBool(page.IsTruncated) {
				return
			}
			next := aws.ToString(page.NextContinuationToken)
			if next == "" || next == aws.ToString(in.ContinuationToken) {
				yield(objectstore.Object{}, errUnfinished)
				return
			}
			in.ContinuationToken = &next
		}
	}
}

// limitedResponse limits the size of a response, which the client reads into memory.
func limitedResponse(o *s3.Options) { o.HTTPClient = limited{o.HTTPClient} }

// withoutWarnings turns off a line for each object without a checksum, past the logger of the host.
func withoutWarnings(o *s3.Options) { o.DisableLogOutputChecksumValidationSkipped = true }

// withoutTrailer turns off the checksum after the body. Over HTTPS, it adds aws-chunked to
// Content-Encoding, which some stores keep and send to readers.
func withoutTrailer(o *s3.Options) {
	o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
}

// An answerError is the error in a response. Its text has no IDs of requests, so that a log can see
// that an error repeats.
type answerError struct {
	text string
	err  error
}

func (e *answerError) Error() string { return e.text }
func (e *answerError) Unwrap() error { return e.err }

// translate converts an error to one that package objectstore knows.
func translate(err error) error {
	response, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err)
	if !ok {
		return err
	}
	if response.HTTPStatusCode() == 0 {
		return &answerError{"S3 did not answer: " + unanswered(err), err}
	}
	code, message := http.StatusText(response.HTTPStatusCode()), ""
	api, ok := errors.AsType[smithy.APIError](err)
	if ok {
		code, message = cmp.Or(api.ErrorCode(), code), api.ErrorMessage()
	}
	text := fmt.Sprintf("S3 answered %d %s", response.HTTPStatusCode(), code)
	if message != "" && message != code {
		text += ": " + message
	}
	err = &answerError{text, err}
	switch response.HTTPStatusCode() {
	case http.StatusNotFound:
		if !ok || api.ErrorCode() != "NoSuchBucket" {
			return fmt.Errorf("%w (%w)", fs.ErrNotExist, err)
		}
	case http.StatusPreconditionFailed, http.StatusConflict:
		return fmt.Errorf("%w (%w)", objectstore.ErrCondition, err)
	case http.StatusNotImplemented:
		return fmt.Errorf("%w (%w)", errors.ErrUnsupported, err)
	}
	return err
}

// unanswered says why a request has no response, without the port of this computer, which differs each time.
func unanswered(err error) string {
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		same := *failed
		same.Source = nil
		return same.Error()
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err.Error()
	}
	return err.Error()
}

func quoted(etag string) *string { return aws.String(`"` + etag + `"`) }

func orNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
