// Command stdlib is a small site of articles that is a ResourceSync Source, with net/http
// only. Run it,
//
//	go run ./examples/stdlib
//
// write, rewrite and delete articles,
//
//	curl -X PUT -d 'Hello.'        http://127.0.0.1:8080/articles/hello
//	curl -X PUT -d 'Hello, again.' http://127.0.0.1:8080/articles/hello
//	curl -X PUT -d 'Soon gone.'    http://127.0.0.1:8080/articles/draft
//	curl -X DELETE                 http://127.0.0.1:8080/articles/draft
//
// and request what a harvester requests: the entry point, the list of articles, the list
// of changes, and the Link header of an article.
//
//	curl http://127.0.0.1:8080/.well-known/resourcesync
//	curl http://127.0.0.1:8080/resourcesync/resourcelist.xml
//	curl http://127.0.0.1:8080/resourcesync/changelist.xml
//	curl -I http://127.0.0.1:8080/articles/hello
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "`address` to listen at")
	flag.Parse()
	ln, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	site := "http://" + ln.Addr().String() // the public URL, without a trailing slash

	// The ResourceSync part begins. The Source publishes the resources in the
	// set. The handlers that write articles put them into the set and delete
	// them from it: look for set in articles.go.
	set := memory.New(nil)
	src, err := rshttp.New(site+"/resourcesync/", []rshttp.Set{{Provider: set}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	app := newArticles(site, set)
	handler := src.Wrap(app) // serves the documents, and adds Link headers to the articles
	// The ResourceSync part ends.

	log.Printf("listening; harvesters start at %s", src.Description())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(ln)
	log.Fatal(src.Run(context.Background()))
}
