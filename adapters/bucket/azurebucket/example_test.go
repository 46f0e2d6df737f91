package azurebucket_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob/azureblob"

	"github.com/resourcesync-go/resourcesync/adapters/bucket"
	"github.com/resourcesync-go/resourcesync/adapters/bucket/azurebucket"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/scan"
)

// The objects of a public container of Azure Blob Storage. A program reports changes.
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

	// This sends no requests.
	client, err := container.NewClientWithNoCredential("https://library.blob.core.windows.net/papers", &container.ClientOptions{
		ClientOptions: policy.ClientOptions{Transport: azurebucket.Transport(nil)},
	})
	if err != nil {
		log.Fatal(err)
	}
	opened, err := azureblob.OpenBucket(ctx, client, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer opened.Close()
	objects, err := bucket.New(opened, "https://library.blob.core.windows.net/papers/{key}", &bucket.Options{
		Name:    "https://library.blob.core.windows.net/papers",
		Service: azurebucket.Service{},
	})
	if err != nil {
		log.Fatal(err)
	}
	set, err := scan.Into(ctx, store, "objects", objects, nil)
	if err != nil {
		log.Fatal(err)
	}
	// A Source runs set.Run, which lists the container.

	r := httptest.NewRequest("POST", "/resourcesync/ping", strings.NewReader("url=https://library.blob.core.windows.net/papers/maps/1.txt"))
	r.Header.Set("Authorization", "Bearer TOKEN")
	w := httptest.NewRecorder()
	objects.Ping("TOKEN").ServeHTTP(w, r)
	fmt.Println(w.Code, set.Ready())
	// Output: 202 false
}
