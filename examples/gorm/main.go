// Command gorm is an application with gorilla/mux, GORM and MariaDB, whose articles are a
// ResourceSync Source. Articles are deleted softly: their rows stay. Run it,
//
//	go run . -db 'cms:secret@tcp(127.0.0.1:3306)/cms'
//
// create an article, and request the list of changes:
//
//	curl -X PUT -d 'Hello' http://127.0.0.1:8080/articles/hello
//	curl http://127.0.0.1:8080/resourcesync/changelist.xml
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/http"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/mysqltable"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

func main() {
	dsn := flag.String("db", "cms@tcp(127.0.0.1:3306)/cms", "`DSN` of the database")
	flag.Parse()
	ln, err := net.Listen("tcp", "127.0.0.1:8080")
	if err == nil {
		err = run(context.Background(), ln, *dsn, "articles.db")
	}
	log.Fatal(err)
}

// run serves the articles, and their ResourceSync documents, until ctx ends, and returns why it
// ended. The lists and changes are in a file of this program, the triggers in the database of the
// application.
func run(ctx context.Context, ln net.Listener, dsn, file string) error {
	site := "http://" + ln.Addr().String() + "/"
	orm, err := gorm.Open(mysql.Open(dsn+"?parseTime=true"), &gorm.Config{})
	if err != nil {
		return err
	}
	app, err := newApp(orm) // the application, which does not use ResourceSync
	if err != nil {
		return err
	}
	//docs:begin gorm
	db, err := orm.DB()
	if err != nil {
		return err
	}
	defer db.Close()
	articles := sqltable.Table{
		Name: "articles", Key: "slug", URI: site + "articles/{slug}", LastModified: "updated_at", Deleted: "deleted_at",
	}
	triggers := mysqltable.Triggers(db) // which record changes in an outbox
	statements, err := triggers.Create(ctx, articles, "articles")
	if err == nil {
		err = triggers.Apply(ctx, statements)
	}
	if err != nil {
		return err
	}
	listing, err := mysqltable.List(ctx, db, articles, &sqltable.ListingOptions{Triggers: "articles"})
	if err != nil {
		return err
	}
	store, err := sqlitestore.OpenFile(ctx, file, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	set, err := scan.Into(ctx, store, "articles", listing, nil) // follows the outbox
	if err != nil {
		return err
	}
	src, err := rshttp.New(site+"resourcesync/", []rshttp.Set{{Provider: set}},
		&rshttp.Options{Store: store, Hub: &hub.Options{}})
	if err != nil {
		return err
	}
	server := &http.Server{Handler: src.Wrap(app), ReadHeaderTimeout: 10 * time.Second}
	//docs:end
	defer server.Close()
	serving, stop := context.WithCancelCause(ctx)
	go func() { stop(server.Serve(ln)) }()
	if err := src.Run(serving); err != nil || ctx.Err() != nil {
		return err // nil after an interrupt
	}
	return context.Cause(serving) // why the server has ended
}
