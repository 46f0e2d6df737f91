package oaipmh_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/oaipmh"
	"github.com/resourcesync-go/resourcesync/internal/oaitest"
)

func TestHarvest(t *testing.T) {
	f := newFixture(t, 250, oaipmh.Options{})
	if r := f.harvest(); r.Created != 250 {
		t.Errorf("the first harvest has the result %+v", r)
	}
	f.compare()
	if changes := f.changes(); len(changes) > 0 {
		t.Errorf("the baseline is journalled: %q", changes)
	}
	for r := range f.set.Resources(t.Context(), resourcesync.Range{From: "oai:repo.example:7", To: "oai:repo.example:70"}) {
		if want := f.Get(r.Key); r.URI != want.Identifiers[1] || !r.LastModified.Equal(want.Datestamp) {
			t.Errorf("the resource is %+v, of the record %+v", r, want)
		}
	}
	f.Requests()

	now := time.Now()
	f.Put(oaitest.Record{Identifier: "oai:repo.example:3", Datestamp: now, Identifiers: []string{"https://repo.example/record/3"}})
	f.Put(oaitest.Record{Identifier: "oai:repo.example:new", Datestamp: now, Identifiers: []string{"https://repo.example/record/new"}})
	f.Put(oaitest.Record{Identifier: "oai:repo.example:4", Datestamp: now, Identifiers: []string{"https://repo.example/moved/4"}})
	f.Delete("oai:repo.example:5")
	if r := f.harvest(); r.Created != 1 || r.Updated != 2 || r.Deleted != 1 {
		t.Errorf("the changes have the result %+v", r)
	}
	f.compare()
	want := []string{
		"created https://repo.example/moved/4",
		"created https://repo.example/record/new",
		"deleted https://repo.example/record/4",
		"deleted https://repo.example/record/5",
		"updated https://repo.example/record/3",
	}
	if got := slices.Sorted(slices.Values(f.changes())); !slices.Equal(got, want) {
		t.Errorf("the journal is %q, expected %q", got, want)
	}
	if got := f.Requests(); len(got) != 1 || !strings.HasPrefix(got[0], "verb=ListRecords&metadataPrefix=oai_dc&from=") {
		t.Errorf("an incremental harvest requests %q", got)
	}

	before := f.changes()
	f.restart()
	if r := f.harvest(); r.Created+r.Updated+r.Deleted > 0 {
		t.Errorf("the overlap has the result %+v", r)
	}
	if got := f.changes(); len(got) != len(before) {
		t.Errorf("the overlap is journalled: %q", got[len(before):])
	}
}

func TestHarvest_Template(t *testing.T) {
	f := newFixture(t, 3, oaipmh.Options{URI: "https://repo.example/record/{local}", DescribedBy: true})
	f.harvest()
	f.compare()
	r, _, err := f.set.Get(t.Context(), "oai:repo.example:2")
	want := resourcesync.Link{Rel: "describedby", Type: "text/xml",
		Href: f.server.URL + "/oai?verb=GetRecord&metadataPrefix=oai_dc&identifier=oai%3Arepo.example%3A2"}
	if err != nil || len(r.Links) != 1 || !r.Links[0].Equal(want) {
		t.Errorf("the links are %+v, error %v, expected %+v", r.Links, err, want)
	}
	if got := f.Requests()[1]; got != "verb=ListIdentifiers&metadataPrefix=oai_dc" {
		t.Errorf("with a template, the request is %q", got)
	}
}

func TestHarvest_Set(t *testing.T) {
	f := newFixture(t, 10, oaipmh.Options{Set: "math", FullEvery: time.Nanosecond})
	f.harvest()
	if got := f.uris(); len(got) != 5 {
		t.Errorf("the set has %q", got)
	}
	// A record that leaves a set is not reported as deleted.
	moved := f.Get("oai:repo.example:2")
	moved.Sets = []string{"physics"}
	f.Put(moved)
	f.harvest()
	if got := f.uris(); len(got) != 4 || slices.Contains(got, "https://repo.example/record/2") {
		t.Errorf("after a record has left, the set has %q", got)
	}
}

// TestHarvest_Configuration changes options that determine the resources.
func TestHarvest_Configuration(t *testing.T) {
	f := newFixture(t, 5, oaipmh.Options{})
	f.harvest()
	f.options.URI = "https://repo.example/other/{identifier}"
	f.restart()
	f.harvest()
	if got := f.uris(); len(got) != 5 || got[0] != "https://repo.example/other/oai%3Arepo.example%3A1" {
		t.Errorf("with another template, the set has %q", got)
	}
}

func TestHarvest_NoDeletions(t *testing.T) {
	f := newFixture(t, 20, oaipmh.Options{FullEvery: time.Hour})
	f.DeletedRecord = "no"
	f.harvest()
	f.Delete("oai:repo.example:7", "oai:repo.example:8")
	f.harvest()
	if got := f.uris(); len(got) != 20 {
		t.Errorf("before a complete listing, the set has %d resources", len(got))
	}
	f.options.FullEvery = time.Nanosecond
	f.restart()
	if r := f.harvest(); r.Deleted != 2 {
		t.Errorf("the complete listing has the result %+v", r)
	}
	f.compare()
}

// TestHarvest_Guard loses most records, once reported and once not.
func TestHarvest_Guard(t *testing.T) {
	for _, policy := range []string{"no", "persistent"} {
		t.Run(policy, func(t *testing.T) {
			f := newFixture(t, 20, oaipmh.Options{FullEvery: time.Nanosecond})
			if f.DeletedRecord = policy; policy == "persistent" {
				f.options.FullEvery = -1
				f.restart()
			}
			f.harvest()
			var most []string
			for i := range 15 {
				most = append(most, fmt.Sprintf("oai:repo.example:%d", i+1))
			}
			f.Delete(most...)
			for range 2 {
				if r := f.harvest(); r.Held != 15 || len(f.uris()) != 20 {
					t.Errorf("the result is %+v, with %d resources", r, len(f.uris()))
				}
			}
			// One comes back: its deletion is no longer held.
			back := f.Repository
			back.Put(oaitest.Record{Identifier: most[0], Datestamp: time.Now(), Identifiers: []string{"https://repo.example/record/1"}})
			if r := f.harvest(); r.Held != 14 {
				t.Errorf("the result is %+v", r)
			}
			if _, err := f.set.ConfirmDeletions(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.restart()
			if r := f.harvest(); r.Deleted != 14 {
				t.Errorf("after the confirmation, the result is %+v", r)
			}
			f.compare()
		})
	}
}

// TestHarvest_Shift deletes records while the list is read by offsets, which skips others.
func TestHarvest_Shift(t *testing.T) {
	f := newFixture(t, 50, oaipmh.Options{FullEvery: time.Nanosecond})
	f.DeletedRecord, f.PageSize = "no", 10
	f.harvest()
	f.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Query().Get("resumptionToken"), "0!20!") {
			f.Delete("oai:repo.example:1", "oai:repo.example:2", "oai:repo.example:3")
		}
		return false
	}
	f.harvest()
	f.Before = nil
	for _, uri := range f.URIs() {
		if !slices.Contains(f.uris(), uri) {
			t.Errorf("a record that the list has skipped is deleted: %s", uri)
		}
	}
	f.harvest()
	f.compare()
	for _, c := range f.changes() {
		if !strings.HasPrefix(c, "deleted ") {
			t.Errorf("the journal has %q", c)
		}
	}
}

// TestHarvest_During changes records during the first listing, behind and before its
// position, and cuts it off at each page.
func TestHarvest_During(t *testing.T) {
	f := newFixture(t, 60, oaipmh.Options{})
	f.PageSize = 10
	i := 0
	var stop context.CancelFunc
	f.Before = func(http.ResponseWriter, *http.Request) bool {
		if i++; i > 8 {
			return false
		}
		for _, n := range []int{i, 60 - i} {
			f.Put(oaitest.Record{Identifier: fmt.Sprintf("oai:repo.example:%d", n), Datestamp: time.Now(), Title: "changed",
				Identifiers: []string{fmt.Sprintf("https://repo.example/changed/%d", n)}})
		}
		stop()
		return false
	}
	for done := false; !done; f.restart() {
		ctx, cancel := context.WithCancel(t.Context())
		stop = cancel
		_, err := f.harvester.Fill(ctx)
		cancel()
		if done = err == nil; !done && (!errors.Is(err, context.Canceled) || i > 8) {
			t.Fatal(err)
		}
	}
	f.harvest()
	f.compare()
}

func TestHarvest_Interrupted(t *testing.T) {
	// A long listing is interrupted for recent changes.
	f := newFixture(t, 100, oaipmh.Options{FullEvery: time.Nanosecond})
	f.PageSize = 10
	f.harvest()
	f.Requests()
	f.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Query().Get("resumptionToken"), "0!50!") {
			f.harvester.Changed()
		}
		return false
	}
	f.harvest()
	requests := f.Requests()
	at := slices.IndexFunc(requests, func(q string) bool { return strings.Contains(q, "resumptionToken=0%2150%21") })
	if at < 0 || !strings.Contains(requests[at+1], "from=") {
		t.Errorf("the requests are %q", requests)
	}
}
