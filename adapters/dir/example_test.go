package dir_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/resourcesync-go/resourcesync/adapters/dir"
)

func Example() {
	path, err := os.MkdirTemp("", "papers")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(path)
	if err := os.WriteFile(filepath.Join(path, "a paper.html"), []byte("<h1>On maps</h1>"), 0o644); err != nil {
		log.Fatal(err)
	}

	papers, err := dir.Open(path, "https://example.org/papers/", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer papers.Close()
	for r, err := range papers.Resources(context.Background()) {
		if err != nil {
			log.Fatal(err) // the scan is incomplete
		}
		length, _ := r.Length.Bytes()
		fmt.Println(r.URI)
		fmt.Println(r.Type, length)
		fmt.Println(r.Hashes[0])
	}

	w := httptest.NewRecorder()
	papers.Handler(nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/papers/a%20paper.html", nil))
	fmt.Println(w.Code, w.Body)
	// Output:
	// https://example.org/papers/a%20paper.html
	// text/html 16
	// sha-256:ea1aa78c8c1c6247b3e74328be771b86100a1885f2a6055191c62ed183169359
	// 200 <h1>On maps</h1>
}
