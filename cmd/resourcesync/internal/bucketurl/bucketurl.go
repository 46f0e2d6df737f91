// Package bucketurl opens buckets by the URLs that people give.
package bucketurl

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob" // s3://

	"github.com/resourcesync-go/resourcesync/adapters/bucket"
	"github.com/resourcesync-go/resourcesync/adapters/bucket/azurebucket"
	"github.com/resourcesync-go/resourcesync/adapters/bucket/s3bucket"
	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

// A Bucket is the URL of a bucket or of a part of one: SCHEME://NAME/PREFIX?PARAMETERS.
type Bucket struct {
	scheme, name string
	Prefix       string // "" or with a slash at the end
	parameters   url.Values
}

// The schemes of the URLs of buckets.
const (
	s3Scheme     = "s3"
	googleScheme = "gs"
	azureScheme  = "azblob"
)

const knownBuckets = "give s3://NAME, gs://NAME or azblob://NAME"

// Parse parses the URL of a bucket. Its errors have no password.
func Parse(text string) (*Bucket, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("the URL of the bucket is not valid: " + knownBuckets)
	}
	switch endpoint := u.Query().Get("endpoint"); {
	case settings.WithoutPassword(endpoint) != endpoint:
		return nil, fmt.Errorf("bucket %s://%s: the endpoint has credentials: set them in the environment or in files, not in the URL", u.Scheme, u.Host)
	case u.Scheme == "":
		return nil, fmt.Errorf("bucket %q: %s", text, knownBuckets)
	case u.Scheme == "file":
		return nil, fmt.Errorf("bucket %q: a folder needs no bucket: use resourcesync serve to publish it, and the path of a folder to mirror into it", u.Redacted())
	case u.Scheme != s3Scheme && u.Scheme != googleScheme && u.Scheme != azureScheme:
		return nil, fmt.Errorf("bucket %q: the scheme %s is not known: %s", u.Redacted(), u.Scheme, knownBuckets)
	case u.User != nil:
		return nil, fmt.Errorf("bucket %s: set credentials in the environment or in files, not in the URL", u.Redacted())
	case u.Host == "":
		return nil, fmt.Errorf("bucket %q has no name: %s", text, knownBuckets)
	case u.Query().Has("prefix"):
		return nil, fmt.Errorf("bucket %q: write the prefix as a path, as in %s://%s/papers/", text, u.Scheme, u.Host)
	}
	b := &Bucket{scheme: u.Scheme, name: u.Host, parameters: u.Query(), Prefix: strings.TrimPrefix(u.Path, "/")}
	if b.Prefix != "" && !strings.HasSuffix(b.Prefix, "/") {
		b.Prefix += "/"
	}
	return b, nil
}

// Is reports whether an argument names a bucket and not a folder.
func Is(text string) bool { return strings.Contains(text, "://") }

// String returns the bucket as people name it, without parameters other than the endpoint.
func (b *Bucket) String() string {
	text := b.scheme + "://" + b.name
	if b.Prefix != "" {
		text += "/" + b.Prefix
	}
	if endpoint := b.parameters.Get("endpoint"); endpoint != "" {
		text += " at " + endpoint
	}
	return text
}

// ExampleURI returns a template of the URIs of objects.
func (b *Bucket) ExampleURI() string {
	switch b.scheme {
	case googleScheme:
		return "https://storage.googleapis.com/" + b.name + "/" + b.Prefix + "{key}"
	case azureScheme:
		return "https://ACCOUNT.blob.core.windows.net/" + b.name + "/" + b.Prefix + "{key}"
	}
	return "https://" + b.name + ".s3.amazonaws.com/" + b.Prefix + "{key}"
}

// Open opens the bucket, without the prefix. It requests nothing.
func (b *Bucket) Open(ctx context.Context) (*blob.Bucket, error) {
	if b.scheme == googleScheme {
		return openGoogle(ctx, b)
	}
	u := url.URL{Scheme: b.scheme, Host: b.name, RawQuery: b.parameters.Encode()}
	open := func(ctx context.Context, u *url.URL) (*blob.Bucket, error) { return blob.OpenBucket(ctx, u.String()) }
	if b.scheme == azureScheme {
		open = openAzure
	}
	opened, err := open(ctx, &u)
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", b, err)
	}
	return opened, nil
}

// Objects opens the bucket for writes that depend on conditions. It requests nothing. The caller
// calls the returned function after the last use.
func (b *Bucket) Objects(ctx context.Context) (objectstore.Client, func() error, error) {
	opened, err := b.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	var amazon *s3.Client
	var azure *container.Client
	switch {
	case opened.As(&amazon):
		return s3bucket.Objects{Client: amazon, Bucket: b.name}, opened.Close, nil
	case opened.As(&azure):
		return azurebucket.Objects{Client: azure}, opened.Close, nil
	}
	opened.Close()
	return nil, nil, fmt.Errorf("bucket %s: unknown driver", b)
}

// Decompresses reports whether the store decompresses objects with Content-Encoding: gzip for clients
// that do not accept it, which changes their length.
func (b *Bucket) Decompresses() bool { return b.scheme == googleScheme }

// Service returns the Service of the scheme.
func (b *Bucket) Service() bucket.Service {
	if b.scheme == azureScheme {
		return azurebucket.Service{}
	}
	return s3bucket.Service{}
}
