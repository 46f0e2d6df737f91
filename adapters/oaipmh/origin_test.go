package oaipmh_test

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	_ "modernc.org/sqlite"

	"github.com/resourcesync-go/resourcesync/adapters/oaipmh"
	"github.com/resourcesync-go/resourcesync/internal/oaitest"
	"github.com/resourcesync-go/resourcesync/scan"
)

// TestInto runs a set: it is ready after the first harvest, and a report of a change leads to
// the next one.
func TestInto(t *testing.T) {
	f := newFixture(t, 30, oaipmh.Options{})
	scanned := make(chan scan.Result, 10)
	repository, err := oaipmh.New(f.server.URL+"/oai", &f.options)
	if err != nil {
		t.Fatal(err)
	}
	set, err := scan.Into(t.Context(), f.store, "records", repository, &scan.Options{
		Observe: func(r scan.Result) { scanned <- r }, Logger: f.options.Logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- set.Run(ctx) }()
	if r := <-scanned; r.Created != 30 || r.Err != nil {
		t.Errorf("the first harvest has the result %+v", r)
	}
	if err := set.AwaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	f.Put(oaitest.Record{Identifier: "oai:repo.example:new", Datestamp: f.Now(), Identifiers: []string{"https://repo.example/record/new"}})
	repository.Changed()
	for r := range scanned {
		if r.Created == 1 || r.Err != nil {
			break
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	f.compare()

	// Another set of the repository has other records.
	f.options.Set = "math"
	if repository, err = oaipmh.New(f.server.URL+"/oai", &f.options); err != nil {
		t.Fatal(err)
	}
	var other *scan.OriginError
	if _, err := scan.Into(t.Context(), f.store, "records", repository, nil); !errors.As(err, &other) || other.Recorded.Name != "the records of "+f.server.URL+"/oai" {
		t.Errorf("the records of another set: %v", err)
	}
}

// TestWatch reports nothing at the beginning, unless a change was reported before.
func TestWatch(t *testing.T) {
	for name, before := range map[string]bool{"": false, "changed before": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := oaipmh.New("https://repo.example/oai", nil)
				if err != nil {
					t.Fatal(err)
				}
				want := 0
				if before {
					r.Changed()
					want++
				}
				ctx, cancel := context.WithCancel(t.Context())
				var calls atomic.Int64
				done := make(chan error)
				go func() {
					done <- r.Watch(ctx, func(paths []string) {
						if paths != nil {
							t.Errorf("%q have changed", paths)
						}
						calls.Add(1)
					})
				}()
				synctest.Wait()
				if got := calls.Load(); got != int64(want) {
					t.Errorf("%d calls at the beginning, expected %d", got, want)
				}
				r.Changed()
				synctest.Wait()
				if got := calls.Load(); got != int64(want+1) {
					t.Errorf("%d calls, expected %d", got, want+1)
				}
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		})
	}
}

// TestProgress has an estimate after the first response, and the numbers of the listing.
func TestProgress(t *testing.T) {
	f := newFixture(t, 30, oaipmh.Options{URIPrefix: "https://repo.example/record/"})
	f.PageSize = 10
	f.Put(oaitest.Record{Identifier: "oai:repo.example:7", Datestamp: midday, Identifiers: []string{"urn:x"}})
	f.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Query().Get("resumptionToken"), "0!10!") {
			if n, bytes, err := f.harvester.Estimate(t.Context()); n != 30 || bytes != 0 || err != nil {
				t.Errorf("the estimate is %d, %d, %v", n, bytes, err)
			}
		}
		return false
	}
	f.harvest()
	if got, want := f.harvester.Progress(), (scan.Progress{Resources: 29, Skipped: 1}); got != want {
		t.Errorf("progress %+v, expected %+v", got, want)
	}
}

// TestDamagedProgress loses the progress of harvests. A harvest without it would take old
// stamps for current ones.
func TestDamagedProgress(t *testing.T) {
	f := newFixture(t, 3, oaipmh.Options{})
	f.harvest()
	db, err := sql.Open("sqlite", f.file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE rs_resource SET body = x'ff' WHERE key = CAST('harvest' AS BLOB)"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.harvester.Fill(t.Context()); err == nil || !strings.Contains(err.Error(), "the state of the harvest cannot be read") {
		t.Errorf("the error is %v", err)
	}
	f.compare()
}

// TestUnbound: a Repository without a set returns errors.
func TestUnbound(t *testing.T) {
	r, err := oaipmh.New("https://repo.example/oai", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Fill(t.Context()); err == nil || !strings.Contains(err.Error(), "Bind") {
		t.Errorf("Fill: %v", err)
	}
	for got, err := range r.Resources(t.Context()) {
		if err == nil || got.Key != "" || !strings.Contains(err.Error(), "Fill") {
			t.Errorf("Resources yields %+v, %v", got, err)
		}
	}
}
