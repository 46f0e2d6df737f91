// Command pocketbase is an unmodified PocketBase whose articles are a ResourceSync Source, with
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

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
)

func main() {
	//docs:begin main
	app := pocketbase.New()
	ctx, stop := context.WithCancel(context.Background())
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		if err := createArticles(e.App); err != nil {
			return err
		}
		return publish(ctx, e, "articles")
	})
	app.OnTerminate().BindFunc(func(e *core.TerminateEvent) error {
		stop()
		return e.Next()
	})
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}

// createArticles makes the collection that is published, if there is none. Anybody may read and
// write it: a real one has other rules.
func createArticles(app core.App) error {
	if _, err := app.FindCollectionByNameOrId("articles"); err == nil {
		return nil
	}
	c := core.NewBaseCollection("articles")
	c.Fields.Add(&core.TextField{Name: "title"}, &core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true})
	anybody := ""
	c.ListRule, c.ViewRule, c.CreateRule, c.UpdateRule, c.DeleteRule = &anybody, &anybody, &anybody, &anybody, &anybody
	return app.Save(c)
}
