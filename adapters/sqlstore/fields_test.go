package sqlstore

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// TestD4_WritersHearOfInvalidFields: Put and Record refuse a field that no document can
// hold, by its name. A scan accepts the resource, because one bad field must not stop
// all of it. The recorded size is the size of its entry as written.
func TestD4_WritersHearOfInvalidFields(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set := db.open(t, nil).mustSet(t, "", nil)
		bad := small("a", 1)
		bad.Links = []resourcesync.Link{{Rel: resourcesync.RelVia, Href: "/relative"}, {Rel: resourcesync.RelVia, Href: "https://example.org/v"}}
		const want = "Links[0].Href"
		if err := set.Put(t.Context(), small("b", 1), bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Put: %v", err)
		}
		for _, change := range []resourcesync.ChangeType{resourcesync.Created, resourcesync.Deleted} {
			err := newWriter(t, db).transaction(t.Context(), func(tx *sql.Tx) error {
				return set.Record(t.Context(), SQLTx(tx), resourcesync.Change{Type: change, Resource: bad})
			})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Record %s: %v", change, err)
			}
		}
		if got := articlesOf(t, set); len(got) != 0 {
			t.Errorf("after refusals the set has %v", got)
		}
		if _, err := set.Scan(t.Context(), listing(bad, small("b", 1))); err != nil {
			t.Fatal(err)
		}
		if got := articlesOf(t, set); len(got) != 2 {
			t.Errorf("after a scan the set has %v", got)
		}
		var e rsxml.Entry
		e.SetResource(&bad)
		text, dropped := rsxml.AppendEntry(nil, &rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ResourceList}}, &e)
		var b entries.Builder
		if n := b.ResourceSize(&bad); n != len(text) || dropped != 1 {
			t.Errorf("recorded are %d bytes, written %d without %d fields", n, len(text), dropped)
		}
	})
}
