package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestHooks writes papers with GORM in PostgreSQL, and reads the journal. It does not contain
// changes that were rolled back.
func TestHooks(t *testing.T) {
	address := os.Getenv("RESOURCESYNC_TEST_POSTGRES")
	if address == "" {
		needs.Skip(t, "RESOURCESYNC_TEST_POSTGRES is not set")
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	schema := fmt.Sprintf("gorm_%d", time.Now().UnixNano())
	u, err := url.Parse(address)
	must(err)
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	pool, err := pgxpool.New(t.Context(), u.String())
	must(err)
	defer pool.Close()
	_, err = pool.Exec(t.Context(), "CREATE SCHEMA "+schema)
	must(err)
	defer pool.Exec(context.WithoutCancel(t.Context()), "DROP SCHEMA "+schema+" CASCADE")
	store, err := pgstore.Open(t.Context(), pool, nil)
	must(err)
	defer store.Close()
	Papers.Journal, err = store.Journal(t.Context(), "papers")
	must(err)
	Papers.URL = "https://example.org/papers/"
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- store.Run(ctx) }()
	defer func() { stop(); must(<-ended) }()

	orm, err := gorm.Open(postgres.Open(u.String()), &gorm.Config{})
	must(err)
	must(orm.AutoMigrate(&Paper{}))
	since := time.Now().Add(-time.Minute)
	must(orm.Create(&Paper{Slug: "a", Text: "one"}).Error)
	must(orm.Save(&Paper{Slug: "a", Text: "two"}).Error)
	err = orm.Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&Paper{Slug: "b"}).Error; err != nil {
			return err
		}
		return errors.New("changed my mind")
	})
	if err == nil {
		t.Error("the transaction was not rolled back")
	}
	must(orm.Delete(&Paper{Slug: "a"}).Error)
	var got []string
	for deadline := time.Now().Add(10 * time.Second); len(got) < 3 && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		got = nil
		for c, err := range Papers.Journal.Changes(t.Context(), resourcesync.Interval{From: since}) {
			must(err)
			got = append(got, string(c.Type)+" "+c.Resource.URI)
		}
	}
	const paper = " https://example.org/papers/a"
	if want := []string{"created" + paper, "updated" + paper, "deleted" + paper}; !slices.Equal(got, want) {
		t.Errorf("the journal has %q", got)
	}
}
