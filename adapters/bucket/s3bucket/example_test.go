package s3bucket_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob/s3blob"

	"github.com/resourcesync-go/resourcesync/adapters/bucket"
	"github.com/resourcesync-go/resourcesync/adapters/bucket/s3bucket"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/scan"
)

// The objects of a bucket in Amazon S3, whose event notifications report changes.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	store, err := sqlitestore.OpenFile(ctx, filepath.Join(folder, "state.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	// This sends no requests. A program uses the configuration and credentials of AWS.
	client := s3.NewFromConfig(aws.Config{Region: "eu-central-1"})
	opened, err := s3blob.OpenBucket(ctx, client, "papers", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer opened.Close()
	objects, err := bucket.New(opened, "https://data.example.org/{key}", &bucket.Options{
		Name:    "s3://papers",
		Service: s3bucket.Service{},
	})
	if err != nil {
		log.Fatal(err)
	}
	set, err := scan.Into(ctx, store, "objects", objects, nil)
	if err != nil {
		log.Fatal(err)
	}
	// A Source runs set.Run, which lists the bucket.

	r := httptest.NewRequest("POST", "/resourcesync/ping", strings.NewReader(
		`{"Records": [{"eventName": "ObjectCreated:Put", "s3": {"bucket": {"name": "papers"}, "object": {"key": "maps/1.txt"}}}]}`))
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth("x", "TOKEN")
	w := httptest.NewRecorder()
	objects.Ping("TOKEN").ServeHTTP(w, r)
	fmt.Println(w.Code, set.Ready())
	// Output: 202 false
}
