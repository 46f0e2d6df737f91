package sqltable

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// numbered runs the store until no change is pending.
func (d *database) numbered(store *sqlstore.Store) {
	d.t.Helper()
	ctx, stop := context.WithCancel(d.t.Context())
	stopped := make(chan error)
	go func() { stopped <- store.Run(ctx) }()
	for deadline := time.Now().Add(needs.Patience); ; time.Sleep(time.Millisecond) {
		pending := 0
		d.rows("SELECT 1 FROM rs_pending LIMIT 1", func(rowdb.Row) error { pending++; return nil })
		if pending == 0 {
			break
		}
		if time.Now().After(deadline) {
			d.t.Fatal("changes stay pending")
		}
	}
	stop()
	must(d.t, <-stopped)
}

// TestRequestsDoNotWaitForWriters: while a host writes, all documents show the numbered
// changes, although windows and pages have to be stored. The status has the time of the
// oldest change that is not numbered.
func TestRequestsDoNotWaitForWriters(t *testing.T) {
	d := sqliteDatabase(t)
	d.run("CREATE TABLE papers (id {int} NOT NULL PRIMARY KEY, title {text})")
	store := d.store()
	table := Table{Name: "papers", Key: "id", URI: "https://example.org/{id}"}
	papers, err := d.provider(table).Journal(t.Context(), store, "papers", nil)
	must(t, err)
	articles, err := store.Set(t.Context(), "articles", nil)
	must(t, err)
	must(t, d.all("INSERT INTO papers VALUES ($1, 'a')", 25, func(i int) []any { return []any{10 + i} }))
	for r, err := range papers.Resources(t.Context(), resourcesync.Range{}) {
		must(t, err)
		must(t, articles.Put(t.Context(), r))
	}
	d.numbered(store)
	if pending, err := papers.Pending(t.Context()); err != nil || !pending.IsZero() {
		t.Errorf("nothing waits, but a change since %v, %v", pending, err)
	}
	before := time.Now().Add(-time.Millisecond)
	d.run("INSERT INTO papers VALUES (9, 'pending')")

	src, err := rshttp.New("https://example.org/", []rshttp.Set{{Name: "papers", Provider: papers}, {Name: "articles", Provider: articles}},
		&rshttp.Options{Division: rshttp.Division{PageSize: 10}})
	must(t, err)
	d.session(func(exec func(string) error) {
		must(t, exec("BEGIN IMMEDIATE"))
		defer func() { must(t, exec("ROLLBACK")) }()
		ctx, cancel := context.WithTimeout(t.Context(), needs.Patience)
		defer cancel()
		for _, set := range []string{"papers", "articles"} {
			for _, path := range []string{"changelist.xml", "changelist/recent.xml", "resourcelist.xml"} {
				w := httptest.NewRecorder()
				src.ServeHTTP(w, httptest.NewRequest("GET", "/"+set+"/"+path, nil).WithContext(ctx))
				if n := strings.Count(w.Body.String(), "<loc>"); w.Code != http.StatusOK || n < 2 {
					t.Errorf("%s/%s: %d, %d entries", set, path, w.Code, n)
				}
			}
		}
		status, err := src.SetStatus(ctx)
		must(t, err)
		if at := status[0].Pending; at.Before(before) || at.After(time.Now().Add(time.Millisecond)) {
			t.Errorf("the oldest change is pending since %v, and was recorded after %v", at, before)
		}
	})

	// Later calls store them.
	for _, path := range []string{"/papers/changelist.xml", "/articles/resourcelist.xml"} {
		src, err := rshttp.New("https://example.org/", []rshttp.Set{{Name: "papers", Provider: papers}, {Name: "articles", Provider: articles}},
			&rshttp.Options{Division: rshttp.Division{PageSize: 10}})
		must(t, err)
		src.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
	}
	for _, table := range []string{"rs_window", "rs_division"} {
		stored := 0
		d.rows("SELECT 1 FROM "+table, func(rowdb.Row) error { stored++; return nil })
		if stored == 0 {
			t.Errorf("%s is empty", table)
		}
	}
}
