// Command chi is a small site of articles on a chi router that is a ResourceSync Source.
// The Source is mounted route by route, so that the site's middleware also sees its
// requests. Run it,
//
//	go run ./examples/chi
//
// write, rewrite and delete articles,
//
//	curl -X PUT -d '{"title": "Hello"}'        http://127.0.0.1:8080/articles/1
//	curl -X PUT -d '{"title": "Hello, again"}' http://127.0.0.1:8080/articles/1
//	curl -X PUT -d '{"title": "Soon gone"}'    http://127.0.0.1:8080/articles/2
//	curl -X DELETE                             http://127.0.0.1:8080/articles/2
//
// and request what a harvester requests: the entry point, the list of articles, the list
// of changes, and the Link header of an article.
//
//	curl http://127.0.0.1:8080/.well-known/resourcesync
//	curl http://127.0.0.1:8080/resourcesync/resourcelist.xml
//	curl http://127.0.0.1:8080/resourcesync/changelist.xml
//	curl -I http://127.0.0.1:8080/articles/1
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "`address` to listen at")
	flag.Parse()
	ln, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	site := "http://" + ln.Addr().String() // the public URL, without a trailing slash

	r := chi.NewRouter()
	r.Use(middleware.Logger) // the site's middleware

	// The ResourceSync part begins. The Source publishes the resources in the
	// set. The handlers that write articles put them into the set and delete
	// them from it: look for set in articles.go.
	set := memory.New(nil)
	src, err := rshttp.New(site+"/resourcesync/", []rshttp.Set{{Provider: set}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	r.Use(src.Link)               // Link headers on the articles
	r.Mount("/resourcesync", src) // the documents
	r.Handle(wellknown.Path, src) // the document at the well-known URI
	// The ResourceSync part ends.

	r.Mount("/articles", newArticles(site+"/articles/", set))

	log.Printf("listening; harvesters start at %s", src.Description())
	server := &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(ln)
	log.Fatal(src.Run(context.Background()))
}
