package rshttp_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A Source computes the packages of a dump while it sends them, and resumes interrupted
// downloads.
func Example_dumps() {
	now := func() time.Time { return time.Date(2026, 1, 2, 13, 0, 0, 0, time.UTC) }
	papers := memory.New(&memory.Options{Now: now})
	err := papers.Put(context.Background(), resourcesync.Resource{
		Key: "1.txt", URI: "https://example.org/papers/1.txt", Type: "text/plain",
		Length: resourcesync.Bytes(int64(len(paper))),
	})
	if err != nil {
		log.Fatal(err)
	}
	set := rshttp.Set{Provider: papers, Opener: shelves{}}
	src, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{set}, nil)
	if err != nil {
		log.Fatal(err)
	}
	get := func(path, header, value string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set(header, value)
		w := httptest.NewRecorder()
		src.ServeHTTP(w, r)
		return w
	}
	fmt.Print(get("/resourcesync/resourcedump.xml", "Accept-Encoding", "identity").Body)

	const path = "/resourcesync/resourcedump/~.zip"
	begun := get(path, "Range", "bytes=0-499")
	rest := get(path, "Range", "bytes=500-")
	whole := append(begun.Body.Bytes(), rest.Body.Bytes()...)
	z, err := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range z.File {
		fmt.Println(f.Name)
	}
	// Output:
	// <?xml version="1.0" encoding="UTF-8"?>
	// <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
	// <rs:ln rel="up" href="https://example.org/resourcesync/capabilitylist.xml"/>
	// <rs:md capability="resourcedump" at="2026-01-02T13:00:00.000001Z"/>
	// <url>
	// <loc>https://example.org/resourcesync/resourcedump/~.zip</loc>
	// <lastmod>2026-01-02T13:00:00.000001Z</lastmod>
	// <rs:md at="2026-01-02T13:00:00.000001Z" length="797" type="application/zip"/>
	// <rs:ln rel="contents" href="https://example.org/resourcesync/resourcedump/~.xml" type="application/xml"/>
	// </url>
	// </urlset>
	// manifest.xml
	// resources/https/example.org/papers/1.txt
}

const paper = "All that is known of it.\n"

// shelves can open the content of the papers.
type shelves struct{}

func (shelves) Open(_ context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	if r.Key != "1.txt" {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(paper)), nil
}
