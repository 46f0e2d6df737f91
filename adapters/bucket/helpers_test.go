package bucket_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/bucket"
	"github.com/resourcesync-go/resourcesync/adapters/bucket/azurebucket"
	"github.com/resourcesync-go/resourcesync/adapters/bucket/s3bucket"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/internal/azuretest"
	"github.com/resourcesync-go/resourcesync/internal/s3test"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A published bucket is compared with a set.
type published struct {
	*bucket.Bucket
	set      *sqlstore.Set
	log      *strings.Builder
	template string
	isS3     bool // it vouches for MD5s, and its driver reads all names
}

// objects are those of a bucket of a real server, with any API.
type objects interface {
	Put(t testing.TB, key, content string)
	Delete(t testing.TB, key string)
}

// each runs a test with a public bucket of each server.
func each(t *testing.T, f func(t *testing.T, b objects, publish func(bucket.Options) *published)) {
	t.Run("S3", func(t *testing.T) {
		b := s3test.New(t)
		b.Publish(t, "*")
		f(t, b, func(o bucket.Options) *published { return publishS3(t, b, o) })
	})
	t.Run("Azure", func(t *testing.T) {
		b := azuretest.New(t)
		b.Publish(t)
		f(t, b, func(o bucket.Options) *published { return publishAzure(t, b, o) })
	})
}

// publish opens a bucket that fills a new set in SQLite.
func publish(t testing.TB, b *blob.Bucket, template string, o bucket.Options) *published {
	t.Helper()
	store, err := sqlitestore.OpenFile(t.Context(), filepath.Join(t.TempDir(), "state.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	p := &published{log: new(strings.Builder), template: template}
	if p.set, err = store.Set(t.Context(), "objects", &scan.SetOptions{MaxDelete: 1}); err != nil {
		t.Fatal(err)
	}
	o.Logger = slog.New(slog.NewTextHandler(p.log, nil))
	if p.Bucket, err = bucket.New(b, template, &o); err != nil {
		t.Fatal(err)
	}
	if err := p.Bind(t.Context(), p.set, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

// publishS3 does so with a bucket of S3.
func publishS3(t testing.TB, b *s3test.Bucket, o bucket.Options) *published {
	o.Service = s3bucket.Service{}
	p := publish(t, b.Open(t), b.Public, o)
	p.isS3 = true
	return p
}

// publishAzure does so with a container of Azure.
func publishAzure(t testing.TB, b *azuretest.Bucket, o bucket.Options) *published {
	o.Service = azurebucket.Service{}
	return publish(t, b.Open(t), b.Public, o)
}

// scan scans the bucket, and expects these numbers of changes.
func (p *published) scan(t testing.TB, want resourcesync.ScanResult) {
	t.Helper()
	got, err := p.set.Scan(t.Context(), p.Resources(t.Context()))
	if err != nil {
		t.Fatalf("%v\n%s", err, p.log)
	}
	if got != want {
		t.Fatalf("scan: %+v, expected %+v\n%s", got, want, p.log)
	}
}

// listed returns the resources of the set by their keys.
func (p *published) listed(t testing.TB) map[string]resourcesync.Resource {
	t.Helper()
	all := map[string]resourcesync.Resource{}
	for r, err := range p.set.Resources(t.Context(), resourcesync.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		all[r.Key] = r.Clone()
	}
	return all
}

// read returns the content of a resource.
func (p *published) read(ctx context.Context, r resourcesync.Resource) (string, error) {
	content, err := p.Open(ctx, r)
	if err != nil {
		return "", err
	}
	defer content.Close()
	b, err := io.ReadAll(content)
	return string(b), err
}

// A roundTripper answers anonymous requests.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// always is a VerifyEvery with which each scan asks for each object.
const always = time.Nanosecond
