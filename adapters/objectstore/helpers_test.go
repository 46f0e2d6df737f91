package objectstore_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/bucket/azurebucket"
	"github.com/resourcesync-go/resourcesync/adapters/bucket/s3bucket"
	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/internal/azuretest"
	"github.com/resourcesync-go/resourcesync/internal/s3test"
	"github.com/resourcesync-go/resourcesync/scan"
	"github.com/resourcesync-go/resourcesync/static"
)

const origin = "https://example.org"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A counted client counts its requests, and calls a function after each object that it has stored or
// deleted.
type counted struct {
	objectstore.Client
	mu            sync.Mutex
	heads, lists  int
	puts, deletes []string // keys
	changed       func()
}

func (c *counted) Head(ctx context.Context, key string) (objectstore.Object, error) {
	c.mu.Lock()
	c.heads++
	c.mu.Unlock()
	return c.Client.Head(ctx, key)
}

func (c *counted) List(ctx context.Context, prefix string) iter.Seq2[objectstore.Object, error] {
	c.mu.Lock()
	c.lists++
	c.mu.Unlock()
	return c.Client.List(ctx, prefix)
}

func (c *counted) Put(ctx context.Context, key string, body io.ReadSeeker, size int64, h objectstore.Header, cond objectstore.Condition) (string, error) {
	etag, err := c.Client.Put(ctx, key, body, size, h, cond)
	if !strings.Contains(key, ".static.") {
		c.mu.Lock()
		c.puts = append(c.puts, key)
		c.mu.Unlock()
		if c.changed != nil {
			c.changed()
		}
	}
	return etag, err
}

func (c *counted) Delete(ctx context.Context, key, etag string) error {
	err := c.Client.Delete(ctx, key, etag)
	if !strings.Contains(key, ".static.") {
		c.deletes = append(c.deletes, key)
		if c.changed != nil {
			c.changed()
		}
	}
	return err
}

// take returns the keys of the objects that were stored since the last call.
func (c *counted) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	puts := c.puts
	c.puts = nil
	return puts
}

// A site is a set in SQLite whose documents are kept in a bucket, below a prefix.
type site struct {
	t       testing.TB
	store   *sqlstore.Store
	set     *sqlstore.Set
	client  *counted
	Objects objectstore.Options
	options static.Options
	dumps   bool
	page    int           // PageSize
	window  time.Duration // of the journal
}

const prefix = "site/"

func newSite(t testing.TB, client objectstore.Client) *site {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	s := &site{t: t, client: &counted{Client: client}, Objects: objectstore.Options{Prefix: prefix, Logger: quiet}, options: static.Options{Logger: quiet}, page: 10, window: time.Millisecond}
	s.open(nil)
	return s
}

// open gives the site a new set.
func (s *site) open(o *scan.SetOptions) {
	s.t.Helper()
	store, err := sqlitestore.OpenFile(s.t.Context(), filepath.Join(s.t.TempDir(), "state.db"), &sqlstore.Options{Window: s.window})
	must(s.t, err)
	s.t.Cleanup(func() { store.Close() })
	s.store = store
	s.set, err = store.Set(s.t.Context(), "set", o)
	must(s.t, err)
}

// contents has the content of each version of a resource: its title.
type contents struct{}

func (contents) Open(_ context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(r.Type)), nil
}

func resource(i int, text string) resourcesync.Resource {
	key := fmt.Sprintf("%04d", i)
	return resourcesync.Resource{Key: key, URI: origin + "/papers/" + key, Type: "text/" + text, Length: resourcesync.Bytes(int64(len("text/" + text)))}
}

// put creates or updates resources with keys from first to last.
func (s *site) put(first, last int, text string) {
	s.t.Helper()
	var all []resourcesync.Resource
	for i := first; i <= last; i++ {
		all = append(all, resource(i, text))
	}
	must(s.t, s.set.Put(s.t.Context(), all...))
}

// delete deletes resources with keys from first to last.
func (s *site) delete(first, last int) {
	s.t.Helper()
	var keys []string
	for i := first; i <= last; i++ {
		keys = append(keys, fmt.Sprintf("%04d", i))
	}
	must(s.t, s.set.Delete(s.t.Context(), keys...))
}

// try keeps the documents in the bucket, by a new Store as of another process.
func (s *site) try() (static.Report, error) {
	s.t.Helper()
	set := static.Set{Name: "papers", Provider: s.set}
	if s.dumps {
		set.Opener = contents{}
	}
	src, err := static.New(origin+"/rs/", []static.Set{set}, &static.SourceOptions{Division: static.Division{PageSize: s.page, PackageSize: 500}})
	must(s.t, err)
	store, err := objectstore.New(s.client, &s.Objects)
	must(s.t, err)
	s.client.heads, s.client.lists, s.client.puts, s.client.deletes = 0, 0, nil, nil
	return static.WriteTo(s.t.Context(), store, src, &s.options)
}

func (s *site) write() static.Report {
	s.t.Helper()
	report, err := s.try()
	must(s.t, err)
	return report
}

// A server is a bucket of a real server.
type server struct {
	client objectstore.Client
	public string // the URL of an object without its key
	put    func(key, content string)
	keys   func() []string // of all objects
}

var s3Servers = map[string]s3test.Server{"S3": s3test.Versity, "another S3": s3test.Moto}

// each runs a test with a bucket of each server.
func each(t *testing.T, f func(t *testing.T, b server)) {
	for name, at := range s3Servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := at.New(t)
			b.Publish(t, "*")
			f(t, server{s3bucket.Objects{Client: b.Client, Bucket: b.Name}, strings.TrimSuffix(b.Public, "{key}"), func(key, content string) { b.Put(t, key, content) }, func() []string { return keysOf(t, b) }})
		})
	}
	t.Run("Azure", func(t *testing.T) {
		t.Parallel()
		b := azuretest.New(t)
		b.Publish(t)
		f(t, server{azurebucket.Objects{Client: b.Client}, strings.TrimSuffix(b.Public, "{key}"), func(key, content string) { b.Put(t, key, content) }, func() []string {
			var keys []string
			pages := b.Client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{})
			for pages.More() {
				page, err := pages.NextPage(t.Context())
				must(t, err)
				for _, o := range page.Segment.BlobItems {
					keys = append(keys, *o.Name)
				}
			}
			return keys
		}})
	})
}

func (s *site) check(b server, resources int, others ...string) {
	s.t.Helper()
	b.check(s.t, origin, resources, others...)
}

// check checks that every link in the bucket leads to an object, that the Resource List has as many
// resources, and that the other objects are those with the keys others and the record.
func (b server) check(t testing.TB, site string, resources int, others ...string) {
	t.Helper()
	paths, listed, err := crawl(b.public+prefix, site)
	if err != nil || listed != resources {
		t.Fatalf("%d resources are listed, want %d: %v", listed, resources, err)
	}
	others = append(others, prefix+"rs/.static.json")
	for _, key := range b.keys() {
		if !paths[strings.TrimPrefix(key, prefix)] && !slices.Contains(others, key) {
			t.Errorf("nothing leads to %s", key)
		}
	}
}

// keysOf returns the keys of all objects of a bucket.
func keysOf(t testing.TB, b *s3test.Bucket) (keys []string) {
	t.Helper()
	out, err := b.Client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &b.Name})
	must(t, err)
	for _, o := range out.Contents {
		keys = append(keys, *o.Key)
	}
	return keys
}

// reader has one pool of connections, because each that is open takes a file of the server.
var reader = &http.Client{Transport: &http.Transport{DisableCompression: true}}

func get(url string) (*http.Response, error) {
	res, err := reader.Get(url)
	if err == nil && res.StatusCode != http.StatusOK {
		res.Body.Close()
		err = fmt.Errorf("%s: %s", url, res.Status)
		if res.StatusCode == http.StatusNotFound {
			err = fmt.Errorf("%w: %s", fs.ErrNotExist, url)
		}
	}
	return res, err
}
