package virtualzip_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// A handler that serves a package, and a client that asks for a part of it.
func Example() {
	entry := func(name, content string) virtualzip.Entry {
		return virtualzip.Entry{
			Name:     name,
			Modified: time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC),
			Size:     int64(len(content)),
			CRC32:    crc32.ChecksumIEEE([]byte(content)),
			Open: func(context.Context) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(content)), nil
			},
		}
	}
	entries := func(yield func(virtualzip.Entry, error) bool) {
		_ = yield(entry("manifest.xml", "<urlset/>"), nil) &&
			yield(entry(virtualzip.Name("resources", "https://example.org/two.txt"), "Of the two files one is in memory."), nil)
	}
	archive, err := virtualzip.New(entries)
	if err != nil {
		fmt.Println(err)
		return
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r := archive.NewReader(req.Context(), nil)
		defer r.Close()
		w.Header().Set("Content-Type", "application/zip")
		w.Header().Set("ETag", `"`+archive.Version()+`"`)
		http.ServeContent(w, req, "", time.Time{}, r)
		if r.Err() != nil {
			panic(http.ErrAbortHandler) // the client has less than it was promised
		}
	})

	req := httptest.NewRequest(http.MethodGet, "/package.zip", nil)
	req.Header.Set("Range", "bytes=134-149")
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, req)
	fmt.Println(rec.Code, rec.Header().Get("Content-Range"))
	fmt.Printf("%q\n", rec.Body)
	// Output:
	// 206 bytes 134-149/347
	// "Of the two files"
}

func ExampleName() {
	for _, uri := range []string{
		"https://example.org/papers/1.pdf",
		"https://example.org/papers/",
		"https://example.org/caf%C3%A9",
		"https://example.org/../etc/passwd",
	} {
		fmt.Println("/" + virtualzip.Name("resources", uri))
	}
	// Output:
	// /resources/https/example.org/papers/1.pdf
	// /resources/https/example.org/papers/index~qwyp22ve3rg2px6mbmq66kesuy
	// /resources/https/example.org/café~c5zk23of3liowozbqzzzo4djbm
	// /resources/https/example.org/__/etc/passwd~tmxnqsd3p2jnomkegungs6i534
}

// A store that does not know checksums reads each resource once and remembers.
func ExampleChecksum() {
	size, sum, err := virtualzip.Checksum(context.Background(), strings.NewReader("123456789"))
	fmt.Printf("%d %08x %v\n", size, sum, err)
	// Output: 9 cbf43926 <nil>
}
