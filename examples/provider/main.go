// Command provider publishes the papers of an application by a provider of its own. It
// is the program that docs/provider.md writes. Run it,
//
//	go run ./examples/provider
//
// write a paper, and read what a harvester reads:
//
//	curl -X PUT -d 'Hello.' http://127.0.0.1:8080/papers/hello
//	curl http://127.0.0.1:8080/resourcesync/resourcelist.xml
//	curl http://127.0.0.1:8080/resourcesync/changelist.xml
package main

import (
	"context"
	"io"
	"log"
	"net/http"
	"strconv"
	"strings"

	"github.com/resourcesync-go/resourcesync/rshttp"
)

//docs:begin main

func main() {
	const site = "http://127.0.0.1:8080"
	shelf := NewShelf()
	src, err := newSource(site, shelf)
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(http.ListenAndServe("127.0.0.1:8080", src.Wrap(newApp(Papers{shelf, site})))) }()
	log.Fatal(src.Run(context.Background()))
}

func newSource(site string, shelf *Shelf) (*rshttp.Source, error) {
	papers := Papers{shelf, site}
	return rshttp.New(site+"/resourcesync/", []rshttp.Set{{Provider: papers, Prefix: "/papers/"}}, nil)
}

//docs:end

// newApp returns the application. It knows that it is published only where it serves patches
// and earlier lists.
func newApp(shelf Papers) http.Handler {
	app := http.NewServeMux()
	app.HandleFunc("POST /archive/", func(w http.ResponseWriter, r *http.Request) { shelf.Keep() })
	app.HandleFunc("GET /archive/{number}", func(w http.ResponseWriter, r *http.Request) {
		shelf.mu.RLock()
		kept := shelf.snapshots
		shelf.mu.RUnlock()
		n, err := strconv.Atoi(r.PathValue("number"))
		if err != nil || n < 0 || n >= len(kept) {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/xml")
		w.Write(kept[n].document)
	})
	app.HandleFunc("GET /patches/{micros}", func(w http.ResponseWriter, r *http.Request) {
		patch, found := shelf.patchAt(r.PathValue("micros"))
		if !found {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/x-diff")
		io.WriteString(w, patch)
	})
	app.HandleFunc("GET /papers/{id}", func(w http.ResponseWriter, r *http.Request) {
		shelf.mu.RLock()
		i, found := shelf.find(r.PathValue("id"))
		var p Paper
		if found {
			p = shelf.papers[i]
		}
		shelf.mu.RUnlock()
		if !found {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		http.ServeContent(w, r, "", p.Modified, strings.NewReader(p.Text))
	})
	app.HandleFunc("PUT /papers/{id}", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "a paper has at most 1 MiB", http.StatusRequestEntityTooLarge)
			return
		}
		shelf.Put(r.PathValue("id"), string(text))
	})
	app.HandleFunc("DELETE /papers/{id}", func(w http.ResponseWriter, r *http.Request) {
		shelf.Delete(r.PathValue("id"))
	})
	return app
}
