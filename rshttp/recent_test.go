package rshttp_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

const recentPath = "/resourcesync/changelist/recent.xml"

// recentChanges gets the list of recent changes.
func recentChanges(t *testing.T, src *rshttp.Source) (from time.Time, entries []rsxml.Entry, etag string) {
	t.Helper()
	res := get(t, src, recentPath)
	if res.StatusCode != 200 {
		t.Fatalf("%s: %s", recentPath, text(t, res))
	}
	h, entries, err := rsxml.Decode(strings.NewReader(text(t, res)))
	if err != nil {
		t.Fatal(err)
	}
	if h.Metadata.Capability != resourcesync.ChangeList || h.Index || !h.Metadata.Until.IsZero() {
		t.Fatalf("head %+v", h)
	}
	return h.Metadata.From, entries, res.Header.Get("ETag")
}

// TestD7_RecentChanges: one list at one URI has every change after its from, which
// is at least a day before the newest change. It depends on the journal alone.
func TestD7_RecentChanges(t *testing.T) {
	now := newYear
	set := memory.New(&memory.Options{Now: func() time.Time { return now }})
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 5}}, rshttp.Set{Provider: set})
	var all []time.Time
	for i := range 60 {
		now = now.Add(2 * time.Hour)
		if err := set.Put(t.Context(), resource(fmt.Sprintf("%03d", i))); err != nil {
			t.Fatal(err)
		}
		all = append(all, now)
		from, entries, etag := recentChanges(t, src)
		want := 0
		for _, at := range all {
			if at.After(from) {
				want++
			}
		}
		if len(entries) != want || entries[len(entries)-1].Loc != resource(fmt.Sprintf("%03d", i)).URI {
			t.Errorf("after %d changes: %d entries after %v, want %d", i+1, len(entries), from, want)
		}
		if want < len(all) && now.Sub(from) < 24*time.Hour {
			t.Errorf("after %d changes, up to %v, the list begins at %v", i+1, now, from)
		}
		now = now.Add(90 * time.Minute) // nobody changes anything
		if res := get(t, src, recentPath, "If-None-Match", etag); res.StatusCode != 304 {
			t.Errorf("the same journal: %s", res.Status)
		}
	}
	if from, _, _ := recentChanges(t, src); now.Sub(from) > 4*24*time.Hour {
		t.Errorf("the list begins at %v, %v ago", from, now.Sub(from))
	}
	index := text(t, get(t, src, "/resourcesync/changelist.xml"))
	if !strings.Contains(index, "<sitemapindex") || !strings.Contains(index, `<rs:ln rel="alternate" href="https://example.org`+recentPath+`"/>`) {
		t.Errorf("the index does not link to it:\n%s", index)
	}
}

// busy is a journal of n changes, a millisecond apart.
type busy int

func (b busy) Since(context.Context) (time.Time, error) { return newYear, nil }

func (b busy) Changes(_ context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		for i := range int(b) {
			c := resourcesync.Change{Type: resourcesync.Updated, Datetime: newYear.Add(time.Duration(i+1) * time.Millisecond), Resource: resource(fmt.Sprint(i))}
			if iv.Contains(c.Datetime) && !yield(c, nil) {
				return
			}
		}
	}
}

// TestD7_MoreRecentChangesThanFit: more changes in a day than fit into a document
// move from up to the last change that is not listed.
func TestD7_MoreRecentChangesThanFit(t *testing.T) {
	needs.Time(t)
	for _, pageSize := range []int{7_000, rsxml.MaxEntries} {
		const n = rsxml.MaxEntries + 1
		src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: pageSize}}, rshttp.Set{Provider: wrong{}, Changer: busy(n)})
		from, entries, _ := recentChanges(t, src)
		if len(entries) != 49_000 {
			t.Errorf("pages of %d: %d entries", pageSize, len(entries))
		}
		if want := newYear.Add((n - 49_000) * time.Millisecond); !from.Equal(want) {
			t.Errorf("pages of %d: from %v, want %v", pageSize, from, want)
		}
	}
}
