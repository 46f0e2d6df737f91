package versions_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/adapters/versions"
)

// A scan of a folder copies the files that it reads, so that the version of a change
// can still be opened when the file has changed again.
func Example() {
	place, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(place)
	folder, file := filepath.Join(place, "files"), filepath.Join(place, "files", "a.txt")
	os.Mkdir(folder, 0o700)
	os.WriteFile(file, []byte("first"), 0o600)

	store, err := versions.Open(filepath.Join(place, "versions"), 30*24*time.Hour)
	if err != nil {
		panic(err)
	}
	files, err := dir.Open(folder, "https://example.org/", &dir.Options{
		Keep: func() (dir.Copy, error) { return store.Create() },
	})
	if err != nil {
		panic(err)
	}
	defer files.Close()

	ctx := context.Background()
	for r := range files.Resources(ctx) {
		os.WriteFile(file, []byte("second"), 0o600)
		past, err := store.OpenChange(ctx, resourcesync.Change{Type: resourcesync.Created, Resource: r})
		if err != nil {
			panic(err)
		}
		text, _ := io.ReadAll(past)
		past.Close()
		fmt.Printf("%s was %q\n", r.Key, text)
	}
	// Output: a.txt was "first"
}
