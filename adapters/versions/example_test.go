package versions_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/versions"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A set of files keeps the version after each change, also when the file has changed again.
func Example() {
	ctx := context.Background()
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
	files, err := versions.OpenFolder(folder, "https://example.org/", store, nil)
	if err != nil {
		panic(err)
	}
	defer files.Close()
	set, err := scan.Into(ctx, new(memory.Store), "files", files, nil)
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"first", "second", "third version"} {
		os.WriteFile(file, []byte(text), 0o600)
		if _, err := set.Update(ctx); err != nil {
			panic(err)
		}
	}
	since, err := set.Since(ctx)
	if err != nil {
		panic(err)
	}
	for change, err := range set.Changes(ctx, resourcesync.Interval{From: since}) {
		if err != nil {
			panic(err)
		}
		version, err := files.OpenChange(ctx, change)
		if err != nil {
			panic(err)
		}
		text, _ := io.ReadAll(version)
		version.Close()
		fmt.Printf("%s %s: %q\n", change.Type, change.Resource.Key, text)
	}
	// Output:
	// updated a.txt: "second"
	// updated a.txt: "third version"
}
