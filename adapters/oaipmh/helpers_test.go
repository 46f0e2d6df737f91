package oaipmh_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/oaipmh"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/internal/oaitest"
)

// A fixture is a repository with the set that is harvested from it.
type fixture struct {
	*oaitest.Repository
	server    *httptest.Server
	file      string // of the store
	store     *sqlstore.Store
	set       *sqlstore.Set
	harvester *oaipmh.Repository
	options   oaipmh.Options
	t         testing.TB
}

// midday is the time of the newest record of a fixture.
var midday = time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour)

func newFixture(t testing.TB, records int, o oaipmh.Options) *fixture {
	f := &fixture{t: t, options: o}
	f.options.Rate = 1e6
	f.options.Logger = slog.New(slog.DiscardHandler)
	f.Repository = oaitest.New("https://repo.example", records, midday)
	f.server = httptest.NewServer(f.Repository)
	t.Cleanup(f.server.Close)
	f.file = filepath.Join(t.TempDir(), "state.db")
	var err error
	if f.store, f.set, err = openStore(t.Context(), f.file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.store.Close() })
	f.restart()
	return f
}

// restart continues with a new harvester, as a new process does.
func (f *fixture) restart() {
	f.t.Helper()
	f.restartAt(f.server.URL + "/oai")
}

func (f *fixture) restartAt(url string) {
	f.t.Helper()
	var err error
	if f.harvester, err = newHarvester(context.Background(), url, f.store, f.set, &f.options); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) harvest() resourcesync.ScanResult {
	f.t.Helper()
	result, err := f.harvester.Fill(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	return result
}

// uris returns the URIs in the set, in order.
func (f *fixture) uris() []string {
	f.t.Helper()
	var out []string
	for r, err := range f.set.Resources(context.Background(), resourcesync.Range{}) {
		if err != nil && !errors.Is(err, resourcesync.ErrNotReady) {
			f.t.Fatal(err)
		}
		if err == nil {
			out = append(out, r.URI)
		}
	}
	slices.Sort(out)
	return out
}

// compare compares the set with the repository.
func (f *fixture) compare() {
	f.t.Helper()
	got, want := f.uris(), f.URIs()
	if slices.Equal(got, want) {
		return
	}
	for _, uri := range want {
		if !slices.Contains(got, uri) {
			f.t.Errorf("the set lacks %s", uri)
		}
	}
	for _, uri := range got {
		if !slices.Contains(want, uri) {
			f.t.Errorf("the set still has %s", uri)
		}
	}
}

// changes returns the changes in the journal.
func (f *fixture) changes() (out []string) {
	f.t.Helper()
	for c, err := range f.set.Changes(context.Background(), resourcesync.Interval{}) {
		if err != nil {
			f.t.Fatal(err)
		}
		out = append(out, string(c.Type)+" "+c.Resource.URI)
	}
	return out
}
