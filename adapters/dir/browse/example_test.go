package browse_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/adapters/dir/browse"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
)

func Example() {
	ctx := context.Background()
	temp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(temp)
	folder := filepath.Join(temp, "papers")
	if err := os.MkdirAll(filepath.Join(folder, "maps"), 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "maps", "1.txt"), []byte("On maps"), 0o644); err != nil {
		log.Fatal(err)
	}

	// A scan records the files of the folder in a stored set.
	papers, err := dir.Open(folder, "https://example.org/papers/", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer papers.Close()
	store, err := sqlitestore.OpenFile(ctx, filepath.Join(temp, "state.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	set, err := store.Set(ctx, "papers", nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := set.Scan(ctx, papers.Resources(ctx)); err != nil {
		log.Fatal(err)
	}

	// The handler serves the files, and a page for each folder.
	h := browse.Handler(papers, set, nil)
	for _, path := range []string{"/papers/maps/1.txt", "/papers/maps/"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Println(w.Code, w.Header().Get("Content-Type"), strings.Contains(w.Body.String(), "1.txt"))
	}
	// Output:
	// 200 text/plain; charset=utf-8 false
	// 200 text/html; charset=utf-8 true
}
