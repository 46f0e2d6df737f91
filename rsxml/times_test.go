package rsxml

import (
	"bytes"
	"slices"
	"strings"
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

// TestLastModPrecision: even if a host keeps more digits in one place than in another, both
// state the same time.
func TestLastModPrecision(t *testing.T) {
	at := date("2025-05-01T12:00:00.816139427Z")
	for _, modified := range []time.Time{at, at.Truncate(time.Microsecond), at.Truncate(time.Millisecond)} {
		r := resourcesync.Resource{URI: "https://example.org/a", LastModified: modified}
		var e Entry
		e.SetResource(&r)
		texts := []string{string(encode(Head{}, []Entry{e}))}
		for _, what := range []resourcesync.ChangeType{resourcesync.Updated, resourcesync.Deleted} {
			e.SetChange(&resourcesync.Change{Type: what, Datetime: at, Resource: r})
			texts = append(texts, string(encode(Head{}, []Entry{e})))
		}
		for _, text := range texts {
			if !strings.Contains(text, "<lastmod>2025-05-01T12:00:00.816Z</lastmod>") {
				t.Errorf("%v: %s", modified, text)
			}
		}
	}
}

// TestTimesOmitted: a time that no document can state is omitted, and no other time stands in
// its place. An entry of a change is dated by its datetime.
func TestTimesOmitted(t *testing.T) {
	for _, year := range []int{-1, 10000} {
		out := time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)
		r := resourcesync.Resource{URI: "https://example.org/a", LastModified: out, Links: []resourcesync.Link{{Rel: "alternate", Href: "https://example.org/b", Modified: out}}}
		err := CheckResource(&r)
		if err == nil || !strings.Contains(err.Error(), "LastModified") || !strings.Contains(err.Error(), "Links[0].Modified") {
			t.Errorf("year %d: %v", year, err)
		}
		var e Entry
		e.SetResource(&r)
		if text, dropped := AppendEntry(nil, &listHead, &e); dropped != 2 || strings.Contains(string(text), "lastmod") || strings.Contains(string(text), "modified") {
			t.Errorf("year %d, %d dropped: %s", year, dropped, text)
		}
		e.SetChange(&resourcesync.Change{Type: resourcesync.Updated, Datetime: date("2025-05-01T12:00:00Z"), Resource: r})
		if text, _ := AppendEntry(nil, &Head{Metadata: Metadata{Capability: resourcesync.ChangeList}}, &e); !strings.Contains(string(text), "<lastmod>2025-05-01T12:00:00Z") {
			t.Errorf("year %d: %s", year, text)
		}
	}
}
