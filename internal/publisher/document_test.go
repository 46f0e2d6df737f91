package publisher

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	want, err := os.ReadFile("../../testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

func moment(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t
}

// TestGoldenChange makes example 1 of Change Notification 1.0.1.
func TestGoldenChange(t *testing.T) {
	b := newBatch(capabilityList, 1000)
	b.begin(moment("2025-04-21T00:00:00Z"))
	var left omissions
	for _, c := range []resourcesync.Change{{
		Type: resourcesync.Created, Datetime: moment("2025-04-21T00:07:22Z"),
		Resource: resourcesync.Resource{
			URI: "https://museum.example.org/objects/astrolabe", LastModified: moment("2025-04-19T13:03:00Z"),
			Hashes: []resourcesync.Hash{{Algorithm: "md5", Digest: "9b16ee889992674fb7e9d32aee640b68"}},
			Length: resourcesync.Bytes(20721), Type: "application/pdf",
		},
	}, {
		Type: resourcesync.Updated, Datetime: moment("2025-04-21T00:08:52Z"),
		Resource: resourcesync.Resource{
			URI: "https://museum.example.org/objects/sextant",
			Hashes: []resourcesync.Hash{
				{Algorithm: "md5", Digest: "1975a1d8f38058f76bf5b244f1e4ca72"},
				{Algorithm: "sha-256", Digest: "2d0150f530998da2ca676f02f41876c9da17eb2b724250cae1115434611e8cc6"},
			},
			Length: resourcesync.Bytes(34075), Type: "text/html",
		},
	}} {
		if ok, err := b.add(&c, &left); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	b.seen = moment("2025-04-21T00:10:00Z")
	golden(t, "change-notification/example-1.xml", b.body(capabilityList))
}

// TestGoldenFramework makes examples 1 and 2 of Framework Notification 1.0.1.
func TestGoldenFramework(t *testing.T) {
	const base = "https://museum.example.org/resourcesync/instruments/"
	entry := func(name string, c resourcesync.Capability, change resourcesync.ChangeType) rsxml.Entry {
		return rsxml.Entry{Loc: base + name, Metadata: rsxml.Metadata{Capability: c, Change: change}}
	}
	list := entry("resourcelist.xml", resourcesync.ResourceList, resourcesync.Created)
	dated, indexed := list, list
	dated.Metadata.Datetime = moment("2025-04-21T00:07:22Z")
	indexed.Links = []resourcesync.Link{{Rel: resourcesync.RelIndex, Href: base + "resourcelist-index.xml"}}
	for name, u := range map[string]Update{
		"framework-notification/example-1.xml": {Up: capabilityList, Entries: []rsxml.Entry{dated}},
		"framework-notification/example-2.xml": {Entries: []rsxml.Entry{
			indexed,
			entry("resourcedump.xml", resourcesync.ResourceDump, resourcesync.Created),
			entry("changelist.xml", resourcesync.ChangeList, resourcesync.Updated),
		}},
	} {
		var left omissions
		got, ok := frameworkDocument(&u, &left)
		if !ok || left.entries.n != 0 {
			t.Errorf("%s: left out %+v", name, left)
		}
		golden(t, name, got)
	}
}

// TestUnwritable leaves out URIs that cannot be a <loc>, and does not lose its position
// in the journal.
func TestUnwritable(t *testing.T) {
	b := newBatch(capabilityList, 1000)
	b.begin(moment("2025-01-01T00:00:00Z"))
	var left omissions
	at := moment("2025-01-01T00:00:01Z")
	for i, uri := range []string{"not absolute", "https://museum.example.org/a", "https://museum.example.org/ä"} {
		c := resourcesync.Change{Type: resourcesync.Updated, Datetime: at.Add(time.Duration(i)), Resource: resourcesync.Resource{URI: uri}}
		if ok, err := b.add(&c, &left); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if left.entries.n != 2 || left.entries.first != "not absolute" || left.entries.reason == nil || b.count != 1 {
		t.Errorf("left out %+v, told %d", left, b.count)
	}
	if want := at.Add(2); !b.last.Equal(want) {
		t.Errorf("read until %v, want %v", b.last, want)
	}
	b.seen = b.last
	if _, entries := decode(t, b.body(capabilityList)); len(entries) != 1 || entries[0].Loc != "https://museum.example.org/a" {
		t.Errorf("entries %v", entries)
	}

	u := Update{Entries: []rsxml.Entry{{Loc: "nowhere"}}}
	if body, ok := frameworkDocument(&u, new(omissions)); ok {
		t.Errorf("a notification without entries: %s", body)
	}
}

// TestBatchBounds ends notifications where they have enough changes or bytes, but
// never between changes of the same datetime.
func TestBatchBounds(t *testing.T) {
	begin := moment("2025-01-01T00:00:00Z")
	long := strings.Repeat("x", 1900)
	split := func(max int, changes []resourcesync.Change) (bodies [][]byte, counts []int) {
		b := newBatch(capabilityList, max)
		b.begin(begin)
		for i := 0; i < len(changes); {
			ok, err := b.add(&changes[i], new(omissions))
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				i++
			} else {
				bodies, counts = append(bodies, b.body(capabilityList)), append(counts, b.count)
				b.begin(b.seen)
			}
		}
		b.seen = b.last
		return append(bodies, b.body(capabilityList)), append(counts, b.count)
	}
	changes := func(n int, at func(i int) time.Duration) (out []resourcesync.Change) {
		for i := range n {
			out = append(out, resourcesync.Change{Type: resourcesync.Updated, Datetime: begin.Add(at(i)),
				Resource: resourcesync.Resource{URI: fmt.Sprintf("https://museum.example.org/%s/%d", long, i)}})
		}
		return out
	}
	check := func(bodies [][]byte) {
		t.Helper()
		from := begin
		for _, body := range bodies {
			h, entries := decode(t, body)
			if !h.Metadata.From.Equal(from) || len(body) > maxBody {
				t.Errorf("%d bytes from %v, want at most %d from %v", len(body), h.Metadata.From, maxBody, from)
			}
			for _, e := range entries {
				if at := e.Metadata.Datetime; !at.After(from) || at.After(h.Metadata.Until) {
					t.Errorf("%v is not in (%v, %v]", at, from, h.Metadata.Until)
				}
			}
			from = h.Metadata.Until
		}
	}
	bodies, counts := split(10, changes(25, func(i int) time.Duration { return time.Duration(i+1) * time.Microsecond }))
	if !slices.Equal(counts, []int{10, 10, 5}) {
		t.Errorf("by count: %v", counts)
	}
	check(bodies)
	bodies, counts = split(10, changes(25, func(i int) time.Duration { return time.Duration(1 + i/2) })) // nanoseconds
	if !slices.Equal(counts, []int{10, 10, 5}) {
		t.Errorf("nanoseconds: %v", counts)
	}
	check(bodies)
	bodies, counts = split(10, changes(25, func(i int) time.Duration { return time.Duration(1 + i/15) }))
	if !slices.Equal(counts, []int{15, 10}) {
		t.Errorf("of one datetime: %v", counts)
	}
	check(bodies)
	bodies, counts = split(1000, changes(1200, func(i int) time.Duration { return time.Duration(i+1) * time.Hour }))
	if len(counts) < 3 || len(bodies[0]) < maxBody-4096 {
		t.Errorf("by bytes: %v, the first of %d bytes", counts, len(bodies[0]))
	}
	check(bodies)
}

// TestBatchRefuses checks that journals which break their contract are refused.
func TestBatchRefuses(t *testing.T) {
	begin := moment("2025-01-01T00:00:00Z")
	b := newBatch(capabilityList, 1000)
	b.begin(begin)
	good := resourcesync.Change{Type: resourcesync.Updated, Datetime: begin.Add(time.Second), Resource: resource(1)}
	if ok, err := b.add(&good, new(omissions)); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for what, change := range map[string]func(*resourcesync.Change){
		"type":       func(c *resourcesync.Change) { c.Type = "moved" },
		"no time":    func(c *resourcesync.Change) { c.Datetime = time.Time{} },
		"backwards":  func(c *resourcesync.Change) { c.Datetime = begin.Add(time.Second - 1) },
		"too early":  func(c *resourcesync.Change) { c.Datetime = begin.Add(-1) },
		"no nature ": func(c *resourcesync.Change) { c.Type = "" },
	} {
		c := good
		change(&c)
		if _, err := b.add(&c, new(omissions)); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// TestPatchesOfUpdates: the entry of an update may link to a patch, as in a Change List
// (core 14.4). No other entry may, even if a store keeps such links.
func TestPatchesOfUpdates(t *testing.T) {
	b := newBatch(capabilityList, 1000)
	b.begin(moment("2026-01-01T00:00:00Z"))
	var left omissions
	for i, change := range []resourcesync.ChangeType{resourcesync.Created, resourcesync.Updated, resourcesync.Deleted} {
		c := resourcesync.Change{Type: change, Datetime: moment("2026-01-01T00:00:01Z").Add(time.Duration(i)), Resource: resource(i)}
		c.Resource.Links = []resourcesync.Link{
			{Rel: resourcesync.RelPatch, Href: "https://example.org/patch", Type: "application/json-patch"},
			{Rel: resourcesync.RelDescribedBy, Href: "https://example.org/about"},
		}
		if ok, err := b.add(&c, &left); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	b.seen = moment("2026-01-01T00:00:02Z")
	_, entries := decode(t, b.body(capabilityList))
	for _, e := range entries {
		want := 1
		if e.Metadata.Change == resourcesync.Updated {
			want = 2
		}
		if len(e.Links) != want {
			t.Errorf("the entry of %q has the links %+v", e.Metadata.Change, e.Links)
		}
	}
}
