package objectstore_test

import (
	"context"
	"log"
	"os"
	"os/signal"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/resourcesync-go/resourcesync/adapters/bucket/s3bucket"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
	"github.com/resourcesync-go/resourcesync/static"
)

// The documents of a set in a bucket of Amazon S3.
func Example() {
	ctx := context.Background()
	papers := memory.New(nil)
	client := s3.New(s3.Options{Region: "eu-central-1"})
	src, err := static.New("https://example.org/resourcesync/", []static.Set{{Provider: papers}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	//docs:begin write
	objects := s3bucket.Objects{Client: client, Bucket: "papers"} // or azurebucket.Objects
	store, err := objectstore.New(objects, nil)
	if err != nil {
		log.Fatal(err)
	}
	report, err := static.WriteTo(ctx, store, src, nil)
	if err != nil {
		log.Fatal(err)
	}
	//docs:end
	log.Printf("%d of %d documents written", len(report.Written), report.Documents)
}

// The documents of a set in a bucket, while the set changes.
func Example_publication() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	papers := memory.New(nil)
	src, err := static.New("https://example.org/resourcesync/", []static.Set{{Provider: papers}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	store, err := objectstore.New(s3bucket.Objects{Client: s3.New(s3.Options{Region: "eu-central-1"}), Bucket: "papers"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	//docs:begin publish
	publication := static.NewPublication(store, src, nil)
	if err := publication.Run(ctx); err != nil { // until ctx ends
		log.Fatal(err)
	}
	//docs:end
}
