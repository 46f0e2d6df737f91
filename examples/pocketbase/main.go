// Command pocketbase is a PocketBase whose articles are a ResourceSync Source, with
// push and Link headers. Run it,
//
//	go run . serve
//
// create an article, and request the list of changes:
//
//	curl -d title=Hello http://127.0.0.1:8090/api/collections/articles/records
//	curl http://127.0.0.1:8090/resourcesync/changelist.xml
package main

import (
	"context"
	"log"
	"sync"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"

	"github.com/resourcesync-go/resourcesync/rshttp"
)

func main() {
	//docs:begin main
	app := pocketbase.NewWithConfig(pocketbase.Config{DBConnect: connect})
	ctx, stop := context.WithCancel(context.Background())
	var publishing sync.WaitGroup
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		site := "http://" + e.Server.Addr // use the public URL in production
		ready := make(chan *rshttp.Source, 1)
		publishing.Go(func() {
			defer close(ready)
			if err := publish(ctx, e.App, site, "articles", ready); err != nil {
				log.Printf("the articles are not published: %v", err) // PocketBase and its dashboard run all the same
			}
		})
		src := <-ready  // nil if publish has failed
		err := e.Next() // sets the handler
		if src != nil {
			e.Server.Handler = src.Wrap(e.Server.Handler)
		}
		return err
	})
	app.OnTerminate().BindFunc(func(e *core.TerminateEvent) error {
		stop()
		publishing.Wait() // the journal and the store are closed
		return e.Next()
	})
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
	//docs:end
}
