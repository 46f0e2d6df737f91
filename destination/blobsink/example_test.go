package blobsink_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/destination/blobsink"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A copy of a Source in a bucket.
func Example() {
	site := newSite()
	defer site.Close()
	ctx := context.Background()
	state, err := os.MkdirTemp("", "state")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(state)

	bucket := memblob.OpenBucket(nil) // or one that s3blob, gcsblob or azureblob opens
	defer bucket.Close()
	sink, err := blobsink.New(ctx, bucket)
	if err != nil {
		log.Fatal(err)
	}
	defer sink.Close()
	d, err := destination.New(site.URL, sink, &destination.Options{State: state})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	report, err := d.Sync(ctx)
	if err != nil {
		log.Fatal(err)
	}
	text, err := bucket.ReadAll(ctx, "hello.txt")
	fmt.Println(report.Created, string(text), err)
	audit, err := d.Audit(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(audit.InSync())
	// Output:
	// 1 Hello! <nil>
	// true
}

// newSite returns a small Source.
func newSite() *httptest.Server {
	set := memory.New(nil)
	site := httptest.NewUnstartedServer(nil)
	base := "http://" + site.Listener.Addr().String()
	src, err := rshttp.New(base+"/resourcesync/", []rshttp.Set{{Provider: set}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := set.Put(context.Background(), resourcesync.Resource{Key: "hello", URI: base + "/hello.txt", LastModified: time.Unix(1_700_000_000, 0), Length: resourcesync.Bytes(6)}); err != nil {
		log.Fatal(err)
	}
	site.Config.Handler = src.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "Hello!")
	}))
	site.Start()
	return site
}
