package mysqltable_test

import (
	"context"
	"database/sql"
	"log"
	"os"

	_ "github.com/go-sql-driver/mysql"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/mysqltable"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

func ExampleOpen() {
	ctx := context.Background()
	db, err := sql.Open("mysql", os.Getenv("MYSQL_DSN")) // with charset=utf8mb4
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	papers, err := mysqltable.Open(ctx, db, sqltable.Table{
		Name:         "paper",
		Key:          "id",
		URI:          "https://example.org/papers/{id}",
		LastModified: "updated_at",
	})
	if err != nil {
		log.Fatal(err)
	}
	src, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{Provider: papers}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(src.Run(ctx))
}
