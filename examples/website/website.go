package main

import (
	"fmt"
	"io"
	"net/http"
	"sync"
)

var address = "127.0.0.1:8080" // of the website

// newWebsite returns a website that does not use ResourceSync: a page that can be written, and
// a sitemap.
func newWebsite(site string) http.Handler {
	var mu sync.Mutex
	text := "Hello."
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sitemap.xml", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>%spage</loc></url></urlset>`, site)
	})
	mux.HandleFunc("GET /page", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, text)
	})
	mux.HandleFunc("PUT /page", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "a page has at most 1 MiB", http.StatusRequestEntityTooLarge)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		text = string(body)
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}
