package rshttp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

const index = "/resourcesync/resourcelist.xml"

// counted is a set with a version. Its Cutter counts resources but not bytes, and may
// fail once.
type counted struct {
	counting
	fail bool
}

func (*counted) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return resourcesync.Stat{Version: "1", LastModified: newYear}, nil
}

func (c *counted) Cuts(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	if c.fail {
		c.fail = false
		return nil, errors.New("once")
	}
	return c.counting.Cuts(ctx, previous, every)
}

func firstPage(t *testing.T, res string) string {
	t.Helper()
	return strings.TrimPrefix(locs(res)[0], "https://example.org")
}

// TestSplitPage: a page that turns out too large is split in the very next index, and
// the old index no longer validates. The page stays split although the Cutter does not
// know about it and fails in between.
func TestSplitPage(t *testing.T) {
	needs.Time(t)
	p := &counted{counting: counting{sized{120, 500_000}}}
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 110}}, rshttp.Set{Provider: p})
	before := get(t, src, index)
	if res := get(t, src, firstPage(t, text(t, before))); res.StatusCode != 410 {
		t.Fatal(res.Status)
	}
	p.fail = true
	for range 3 {
		after := get(t, src, index, "If-None-Match", before.Header.Get("ETag"), "If-Modified-Since", newYear.Format(time.RFC1123))
		if after.StatusCode == 503 {
			time.Sleep(20 * time.Millisecond) // the failure, once
			continue
		}
		if after.StatusCode != 200 {
			t.Fatal(after.Status)
		}
		if uris, pages := listed(t, src, index); len(uris) != 120 || pages != 3 {
			t.Errorf("%d resources on %d pages", len(uris), pages)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// slowTable is a table that is slow to walk.
type slowTable struct {
	*table
	delay time.Duration
}

func (s slowTable) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	time.Sleep(s.delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	return resourcesync.Stat{Version: fmt.Sprint(len(s.resources))}, nil
}

// TestFullPageGrows: with pages as large as documents may be, one insertion makes one
// too large. Its resources are available after one request for the index, even if
// dividing the set takes long and must pause.
func TestFullPageGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := slowTable{tableOf(rsxml.MaxEntries + 10), 20 * time.Second}
		src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: rsxml.MaxEntries}, Limits: rshttp.Limits{RenderTimeout: time.Hour, Wait: time.Hour}}, rshttp.Set{Provider: p})
		page := firstPage(t, text(t, get(t, src, index)))
		p.put("000010-new", newYear)
		if res := get(t, src, page); res.StatusCode != 410 {
			t.Fatal(res.Status)
		}
		page = firstPage(t, text(t, get(t, src, index)))
		if res := get(t, src, page); res.StatusCode != 200 {
			t.Errorf("%s after asking the index again", res.Status)
		}
	})
}

// TestNoFalseLastmod: an index says when a page changed only if the set records
// deletions too. Harvesters that skip unchanged pages would miss them otherwise.
func TestNoFalseLastmod(t *testing.T) {
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 10}}, rshttp.Set{Provider: tableOf(30)})
	_, entries, err := rsxml.Decode(get(t, src, index).Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.LastMod.IsZero() || !e.Metadata.At.IsZero() {
			t.Errorf("%s: lastmod %v, at %v", e.Loc, e.LastMod, e.Metadata.At)
		}
	}
}

// unversioned is a table that cannot tell whether it has changed.
type unversioned struct{ *table }

func (unversioned) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return resourcesync.Stat{}, nil
}

func TestUnknownVersion(t *testing.T) {
	p := tableOf(30)
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 10}}, rshttp.Set{Provider: unversioned{p}})
	if _, pages := listed(t, src, index); pages != 3 {
		t.Fatalf("%d pages", pages)
	}
	for i := range 30 {
		p.put(fmt.Sprintf("000005-%02d", i), newYear)
	}
	for deadline := time.Now().Add(needs.Patience); ; time.Sleep(5 * time.Millisecond) {
		if _, pages := listed(t, src, index); pages > 3 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the index never moves")
		}
	}
}
