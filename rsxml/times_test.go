package rsxml

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// TestD3_JournalTimes: datetime, from and until sort as text, and are read back as
// they were.
func TestD3_JournalTimes(t *testing.T) {
	start := date("2025-05-01T12:00:00Z")
	var texts []string
	for _, tt := range []struct {
		after time.Duration
		want  string
	}{
		{0, "2025-05-01T12:00:00.000000Z"},
		{time.Microsecond, "2025-05-01T12:00:00.000001Z"},
		{100 * time.Millisecond, "2025-05-01T12:00:00.100000Z"},
		{999_999 * time.Microsecond, "2025-05-01T12:00:00.999999Z"},
		{time.Second, "2025-05-01T12:00:01.000000Z"},
		{time.Second + 120_300, "2025-05-01T12:00:01.000120300Z"}, // of a host: nothing is lost
	} {
		at := start.Add(tt.after)
		h := Head{Metadata: Metadata{Capability: resourcesync.ChangeList, From: at, Until: at}}
		entries := []Entry{{Loc: "https://example.org/a", LastMod: at, Metadata: Metadata{Change: resourcesync.Updated, Datetime: at}}}
		data := encode(h, entries)
		for _, attr := range []string{` from="`, ` until="`, ` datetime="`} {
			if !bytes.Contains(data, []byte(attr+tt.want+`"`)) {
				t.Errorf("no%s%s\" in\n%s", attr, tt.want, data)
			}
		}
		texts = append(texts, tt.want)
		head, read, err := Decode(bytes.NewReader(data))
		if err != nil || !head.Metadata.From.Equal(at) || !head.Metadata.Until.Equal(at) || !read[0].Metadata.Datetime.Equal(at) {
			t.Errorf("%s reads as %v, %v, %v", tt.want, head.Metadata, read, err)
		}
	}
	if !slices.IsSorted(texts) {
		t.Errorf("not in order as text: %q", texts)
	}
}

// TestD3_EveryChangeHasLastmod: a change of which no modification is known, as
// deletions above all, is dated by its datetime.
func TestD3_EveryChangeHasLastmod(t *testing.T) {
	at, modified := date("2025-05-01T12:00:00.25Z"), date("2025-04-01T00:00:00Z")
	for _, what := range []resourcesync.ChangeType{resourcesync.Created, resourcesync.Updated, resourcesync.Deleted} {
		for stated, want := range map[time.Time]time.Time{{}: at, modified: modified} {
			var e Entry
			e.SetChange(&resourcesync.Change{Type: what, Datetime: at, Resource: resourcesync.Resource{URI: "https://example.org/a", LastModified: stated}})
			if !e.LastMod.Equal(want) {
				t.Errorf("%s with LastModified %v: lastmod %v, want %v", what, stated, e.LastMod, want)
			}
		}
	}
}
