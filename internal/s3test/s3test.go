// Package s3test gives tests buckets in servers with the API of S3.
package s3test

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A Bucket is an empty bucket, which is deleted at the end of the test.
type Bucket struct {
	Client *s3.Client
	Name   string
	URL    string // with which blob.OpenBucket opens it, with the environment of Environ
	Public string // the template of the URIs of objects

	server *url.URL
}

var numbers atomic.Int64

// A Server is the name of a variable with the URL of a server, which has the access key as user and the
// secret key as password.
type Server string

const (
	Versity Server = "RESOURCESYNC_TEST_S3"   // versitygw, whose objects are files
	Moto    Server = "RESOURCESYNC_TEST_MOTO" // moto, whose objects are in memory
)

// New makes a bucket on Versity.
func New(t testing.TB) *Bucket {
	t.Helper()
	return Versity.New(t)
}

// New makes a bucket. Without the variable it skips the test, except in CI.
func (s Server) New(t testing.TB) *Bucket {
	t.Helper()
	return On(t, needs.Variable(t, string(s)))
}

// On makes a bucket on a server that the test has started. The URL has the form of that in a variable.
func On(t testing.TB, address string) *Bucket {
	t.Helper()
	server, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	b := &Bucket{Name: fmt.Sprintf("test-%d-%d-%d", os.Getpid(), numbers.Add(1), time.Now().UnixNano()), server: server}
	endpoint := "http://" + server.Host
	b.URL = "s3://" + b.Name + "?" + url.Values{"endpoint": {endpoint}, "region": {"us-east-1"}, "use_path_style": {"true"}}.Encode()
	b.Public = endpoint + "/" + b.Name + "/{key}"
	b.Client = s3.New(s3.Options{
		BaseEndpoint: &endpoint, Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(b.key(), b.secret(), ""),
	})
	if _, err := b.Client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &b.Name}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.remove(t) })
	return b
}

// Environ returns the credentials as variables for the environment of a process.
func (b *Bucket) Environ() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + b.key(), "AWS_SECRET_ACCESS_KEY=" + b.secret()}
}

func (b *Bucket) key() string { return b.server.User.Username() }

func (b *Bucket) secret() string {
	secret, _ := b.server.User.Password()
	return secret
}

// At returns a URL with the credentials, the bucket as path, and the host of another server in front of
// the bucket's.
func (b *Bucket) At(host string) string {
	return (&url.URL{Scheme: "http", User: b.server.User, Host: host, Path: "/" + b.Name}).String()
}

// remove deletes the bucket with its objects. The context of the test has ended.
func (b *Bucket) remove(t testing.TB) {
	ctx := context.WithoutCancel(t.Context())
	pages := s3.NewListObjectsV2Paginator(b.Client, &s3.ListObjectsV2Input{Bucket: &b.Name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		var ids []types.ObjectIdentifier
		for _, o := range page.Contents {
			ids = append(ids, types.ObjectIdentifier{Key: o.Key})
		}
		if len(ids) > 0 {
			_, err = b.Client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &b.Name, Delete: &types.Delete{Objects: ids}})
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
	if _, err := b.Client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &b.Name}); err != nil {
		t.Error(err)
	}
}

// Open opens the bucket with the driver.
func (b *Bucket) Open(t testing.TB) *blob.Bucket {
	t.Helper()
	opened, err := s3blob.OpenBucket(t.Context(), b.Client, b.Name, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	return opened
}

// Publish lets everybody read the objects whose names match the patterns, and no others.
func (b *Bucket) Publish(t testing.TB, patterns ...string) {
	t.Helper()
	var resources []string
	for _, p := range patterns {
		resources = append(resources, fmt.Sprintf("%q", "arn:aws:s3:::"+b.Name+"/"+p))
	}
	policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":[` + strings.Join(resources, ",") + `]}]}`
	if _, err := b.Client.PutBucketPolicy(t.Context(), &s3.PutBucketPolicyInput{Bucket: &b.Name, Policy: &policy}); err != nil {
		t.Fatal(err)
	}
}

// Put stores an object.
func (b *Bucket) Put(t testing.TB, key, content string) {
	t.Helper()
	_, err := b.Client.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: &b.Name, Key: &key, Body: bytes.NewReader([]byte(content)), ContentType: aws.String("text/plain; charset=utf-8"),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Delete deletes an object.
func (b *Bucket) Delete(t testing.TB, key string) {
	t.Helper()
	if _, err := b.Client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &b.Name, Key: &key}); err != nil {
		t.Fatal(err)
	}
}
