package bucket_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"gocloud.dev/blob/memblob"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/bucket"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/scan"
)

func Example() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	ctx := context.Background()

	// In a program, this is a bucket that s3blob, gcsblob or azureblob opens.
	opened := memblob.OpenBucket(nil)
	defer opened.Close()
	if err := opened.WriteAll(ctx, "maps/1 a.txt", []byte("On maps"), nil); err != nil {
		log.Fatal(err)
	}

	store, err := sqlitestore.OpenFile(ctx, filepath.Join(folder, "state.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	objects, err := bucket.New(opened, "https://data.example.org/{key}", &bucket.Options{
		Private: true, // only this program can read a bucket in memory
	})
	if err != nil {
		log.Fatal(err)
	}
	set, err := scan.Into(ctx, store, "objects", objects, nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := set.Update(ctx) // a Source runs set.Run instead
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Created, "created")
	for r, err := range set.Resources(ctx, resourcesync.Range{}) {
		if err != nil {
			log.Fatal(err)
		}
		content, err := objects.Open(ctx, r) // as the packages of a dump do
		if err != nil {
			log.Fatal(err)
		}
		text, err := io.ReadAll(content)
		content.Close()
		fmt.Println(r.URI, string(text), err)
	}
	// Output:
	// 1 created
	// https://data.example.org/maps/1%20a.txt On maps <nil>
}
