// Package s3bucket supports buckets that the driver s3blob opens: in Amazon S3, or in
// another store with its API.
package s3bucket

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"

	"github.com/resourcesync-go/resourcesync/adapters/bucket"
	"github.com/resourcesync-go/resourcesync/internal/webclient"
)

// Service is the [bucket.Service] of buckets with the API of S3.
type Service struct{}

var _ bucket.Service = Service{}

// ETag implements [bucket.Service].
func (Service) ETag(o *blob.ListObject) (etag, name string) {
	var object types.Object
	if !o.As(&object) {
		return "", ""
	}
	if object.ETag != nil {
		etag = *object.ETag
	}
	if object.Key != nil {
		name = *object.Key
	}
	return etag, name
}

// Reads implements [bucket.Service].
func (Service) Reads(name string) bool {
	return !strings.Contains(name, "../") && !strings.ContainsFunc(name, func(c rune) bool { return c < ' ' })
}

// BeforeList implements [bucket.Service].
func (Service) BeforeList(as func(any) bool) (token string) {
	var in *s3.ListObjectsV2Input
	if as(&in) && in.ContinuationToken != nil {
		token = *in.ContinuationToken
	}
	var options *[]func(*s3.Options)
	if as(&options) {
		*options = append(*options, limitedResponse)
	}
	return token
}

// limited is a client for listings, whose responses it limits.
type limited struct{ s3.HTTPClient }

var errLarge = fmt.Errorf("the response has more than %d bytes", bucket.MaxListing)

// Do implements [s3.HTTPClient].
func (l limited) Do(r *http.Request) (*http.Response, error) {
	res, err := l.HTTPClient.Do(r)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{webclient.Limit(res.Body, bucket.MaxListing, errLarge), res.Body}
	}
	return res, err
}

// BeforeRead implements [bucket.Service].
func (Service) BeforeRead(as func(any) bool, etag string) error {
	var options *[]func(*s3.Options)
	if as(&options) {
		*options = append(*options, withoutWarnings)
	}
	var in *s3.GetObjectInput
	if etag != "" && as(&in) {
		in.IfMatch = &etag
	}
	return nil
}

// MD5 implements [bucket.Service]. The entity tag is an MD5 if the object was uploaded as a
// whole and is not encrypted with a key of the customer or of KMS. Only the response for
// the object says so. The hash of Google Cloud Storage is an MD5 always.
func (Service) MD5(_ *blob.ListObject, etag string, answer http.Header) []byte {
	if answer == nil {
		return nil
	}
	if answer.Get("X-Goog-Hash") != "" {
		return googleMD5(answer)
	}
	if answer.Get("ETag") != etag || !isPlain(answer) {
		return nil
	}
	if len(etag) != 34 || etag != strings.ToLower(etag) {
		return nil
	}
	sum, err := hex.DecodeString(strings.Trim(etag, `"`))
	if err != nil || len(sum) != 16 {
		return nil
	}
	return sum
}

// isPlain reports whether an object is not encrypted, or with a key of S3 itself. S3
// states the encryption in each response.
func isPlain(answer http.Header) bool {
	e := answer.Get("X-Amz-Server-Side-Encryption")
	return (e == "" || e == "AES256") && answer.Get("X-Amz-Server-Side-Encryption-Customer-Algorithm") == ""
}
