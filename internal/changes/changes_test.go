package changes

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

const x, y = "https://example.org/x", "https://example.org/y"

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// version returns a resource at a URI. Its Type distinguishes versions.
func version(key, uri, typ string) *resourcesync.Resource {
	return &resourcesync.Resource{Key: key, URI: uri, Type: typ}
}

// stamped is the same version with a Stamp.
func stamped(r *resourcesync.Resource) *resourcesync.Resource {
	r.Stamp = "seen"
	return r
}

func upsert(r *resourcesync.Resource) Edit { return Edit{Type: Upsert, Key: r.Key, Resource: r} }
func created(r *resourcesync.Resource) Edit {
	return Edit{Type: resourcesync.Created, Key: r.Key, Resource: r}
}
func updated(r *resourcesync.Resource) Edit {
	return Edit{Type: resourcesync.Updated, Key: r.Key, Resource: r}
}
func deleted(key string) Edit  { return Edit{Type: resourcesync.Deleted, Key: key} }
func withdraw(key string) Edit { return Edit{Type: Withdraw, Key: key} }
func release(key string) Edit  { return Edit{Type: Release, Key: key} }
func asOf(at int64, e Edit) Edit {
	e.AsOf = at
	return e
}

// A set is a store of items in a map, which has all that a batch needs.
type set struct {
	items map[string]*Item
	last  int64
	ready bool
	now   time.Time
}

func (s *set) apply(edits ...Edit) *Batch {
	var count int64
	for _, it := range s.items {
		if it.Live != nil {
			count++
		}
	}
	b := &Batch{Items: map[string]*Item{}, Ready: s.ready, Last: s.last, Count: count, Now: func() time.Time { return s.now }}
	load := func(key string) {
		it := Item{}
		if known := s.items[key]; known != nil {
			it = *known
			it.Changed = false
		}
		b.Items[key] = &it
	}
	for _, e := range edits {
		load(e.Key)
	}
	b.Apply(edits)
	vacated := b.Vacated()
	for key, it := range s.items {
		if b.Items[key] == nil && it.Live != nil && slices.Contains(vacated, it.Live.URI) {
			load(key)
		}
	}
	b.Reannounce(vacated)
	for _, key := range b.Changed() {
		s.items[key] = b.Items[key]
	}
	s.last = b.Last
	return b
}

// String returns the listed resources, and the withdrawn ones in brackets.
func (s *set) String() string {
	var words []string
	for key, it := range s.items {
		if it.Live != nil {
			words = append(words, key+"="+it.Live.URI[len(x)-1:]+it.Live.Type+it.Live.Stamp)
		}
		if it.Withdrawn != nil {
			words = append(words, "["+key+"]")
		}
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func journal(events []Event) string {
	var words []string
	for _, e := range events {
		words = append(words, string(e.Type[0])+":"+e.Resource.Key+"="+e.Resource.URI[len(x)-1:]+e.Resource.Type)
	}
	return strings.Join(words, " ")
}

func TestApply(t *testing.T) {
	a1, b1 := version("a", x, "1"), version("b", x, "1")
	for _, tt := range []struct {
		name    string
		before  []Edit
		edits   []Edit
		journal string
		set     string
		counts  Counts
	}{
		{"put a new resource", nil, []Edit{upsert(a1)}, "c:a=x1", "a=x1", Counts{Created: 1}},
		{"put an equal entry", []Edit{upsert(a1)}, []Edit{upsert(version("a", x, "1"))}, "", "a=x1", Counts{Unchanged: 1}},
		{"put another Stamp", []Edit{upsert(a1)}, []Edit{upsert(stamped(version("a", x, "1")))}, "", "a=x1seen", Counts{Unchanged: 1}},
		{"put a new version", []Edit{upsert(a1)}, []Edit{upsert(version("a", x, "2"))}, "u:a=x2", "a=x2", Counts{Updated: 1}},
		{"put at another URI", []Edit{upsert(a1)}, []Edit{upsert(version("a", y, "1"))}, "d:a=x c:a=y1", "a=y1", Counts{Updated: 1}},
		{"put twice", nil, []Edit{upsert(a1), upsert(version("a", x, "2"))}, "c:a=x1 u:a=x2", "a=x2", Counts{Created: 1, Updated: 1}},

		{"record an update of what is unknown", nil, []Edit{updated(a1)}, "c:a=x1", "a=x1", Counts{Created: 1}},
		{"record a creation of what is known", []Edit{upsert(a1)}, []Edit{created(version("a", x, "2"))}, "u:a=x2", "a=x2", Counts{Updated: 1}},
		{"record an update to an equal entry", []Edit{upsert(a1)}, []Edit{updated(version("a", x, "1"))}, "u:a=x1", "a=x1", Counts{Updated: 1}},
		{"record a deletion in full", []Edit{upsert(a1)},
			[]Edit{{Type: resourcesync.Deleted, Key: "a", Resource: version("a", y, "9")}}, "d:a=y9", "", Counts{Deleted: 1}},
		{"record a deletion without a URI", []Edit{upsert(a1)},
			[]Edit{{Type: resourcesync.Deleted, Key: "a", Resource: version("a", "", "9")}}, "d:a=x", "", Counts{Deleted: 1}},

		{"delete", []Edit{upsert(a1)}, []Edit{deleted("a")}, "d:a=x", "", Counts{Deleted: 1}},
		{"delete what is unknown", nil, []Edit{deleted("a")}, "", "", Counts{}},
		{"delete twice", []Edit{upsert(a1)}, []Edit{deleted("a"), deleted("a")}, "d:a=x", "", Counts{Deleted: 1}},
		{"delete and put", []Edit{upsert(a1)}, []Edit{deleted("a"), upsert(a1)}, "d:a=x c:a=x1", "a=x1", Counts{Created: 1, Deleted: 1}},

		{"a listing older than a put", []Edit{upsert(a1)}, []Edit{asOf(1, upsert(version("a", x, "2")))}, "", "a=x1", Counts{Unchanged: 1}},
		{"a listing older than a deletion", []Edit{upsert(a1), deleted("a")}, []Edit{asOf(1, upsert(a1))}, "", "", Counts{Unchanged: 1}},
		{"a missing resource, put since", []Edit{upsert(a1)}, []Edit{asOf(1, deleted("a"))}, "", "a=x1", Counts{}},
		{"a newer listing", []Edit{upsert(a1)}, []Edit{asOf(1<<62, upsert(version("a", x, "2")))}, "u:a=x2", "a=x2", Counts{Updated: 1}},

		{"withdraw", []Edit{upsert(a1)}, []Edit{withdraw("a")}, "", "[a]", Counts{}},
		{"withdraw what is unknown", nil, []Edit{withdraw("a")}, "", "", Counts{}},
		{"release", []Edit{upsert(a1), withdraw("a")}, []Edit{release("a")}, "d:a=x", "", Counts{Deleted: 1}},
		{"release what is not withdrawn", []Edit{upsert(a1)}, []Edit{release("a")}, "", "a=x1", Counts{}},
		{"delete what is withdrawn", []Edit{upsert(a1), withdraw("a")}, []Edit{deleted("a")}, "d:a=x", "", Counts{Deleted: 1}},
		{"put back an equal entry", []Edit{upsert(a1), withdraw("a")}, []Edit{upsert(version("a", x, "1"))}, "", "a=x1", Counts{Unchanged: 1}},
		{"put back a new version", []Edit{upsert(a1), withdraw("a")}, []Edit{upsert(version("a", x, "2"))}, "u:a=x2", "a=x2", Counts{Updated: 1}},

		{"another has the URI", []Edit{upsert(a1), upsert(b1)}, []Edit{deleted("a")}, "d:a=x c:b=x1", "b=x1", Counts{Deleted: 1}},
		{"the first by key of several", []Edit{upsert(a1), upsert(b1), upsert(version("c", x, "1"))},
			[]Edit{deleted("a")}, "d:a=x c:b=x1", "b=x1 c=x1", Counts{Deleted: 1}},
		{"both are deleted", []Edit{upsert(a1), upsert(b1)}, []Edit{deleted("a"), deleted("b")}, "d:a=x d:b=x", "", Counts{Deleted: 2}},
		{"one moves away", []Edit{upsert(a1), upsert(b1)}, []Edit{upsert(version("a", y, "1"))}, "d:a=x c:a=y1 c:b=x1", "a=y1 b=x1", Counts{Updated: 1}},
		{"they change places", []Edit{upsert(a1), upsert(version("b", y, "1"))},
			[]Edit{upsert(version("a", y, "1")), upsert(version("b", x, "1"))},
			"d:a=x c:a=y1 d:b=y c:b=x1 c:a=y1", "a=y1 b=x1", Counts{Updated: 2}},
		{"another comes later in the batch", []Edit{upsert(a1), upsert(b1)},
			[]Edit{deleted("a"), upsert(version("c", x, "1"))}, "d:a=x c:c=x1", "b=x1 c=x1", Counts{Created: 1, Deleted: 1}},
		{"a withdrawn resource is not announced", []Edit{upsert(a1), upsert(b1), withdraw("b")}, []Edit{deleted("a")}, "d:a=x", "[b]", Counts{Deleted: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &set{items: map[string]*Item{}, ready: true, now: start}
			s.apply(tt.before...)
			last := s.last
			b := s.apply(tt.edits...)
			if got := journal(b.Events); got != tt.journal {
				t.Errorf("journal: %q, want %q", got, tt.journal)
			}
			if got := s.String(); got != tt.set {
				t.Errorf("set: %q, want %q", got, tt.set)
			}
			if b.Counts != tt.counts {
				t.Errorf("counts: %+v, want %+v", b.Counts, tt.counts)
			}
			if want := int64(strings.Count(tt.set, "=")); b.Count != want {
				t.Errorf("%d resources, want %d", b.Count, want)
			}
			for _, e := range b.Events {
				if e.At <= last || e.At > b.Last {
					t.Errorf("an event at %d after one at %d, and the last at %d", e.At, last, b.Last)
				}
				last = e.At
			}
		})
	}
}

// TestJournalOnly: a journal without resources takes every change as recorded.
func TestJournalOnly(t *testing.T) {
	b := Batch{Ready: true, Now: func() time.Time { return start }}
	a1 := version("a", x, "1")
	b.Apply([]Edit{updated(a1), created(a1), {Type: resourcesync.Deleted, Key: "a", Resource: a1}, updated(a1)})
	b.Reannounce(b.Vacated())
	if got, want := journal(b.Events), "u:a=x1 c:a=x1 d:a=x1 u:a=x1"; got != want {
		t.Errorf("journal: %q, want %q", got, want)
	}
}

// TestBaseline: before the first scan, no journal can mislead readers, so nothing is
// announced again.
func TestBaseline(t *testing.T) {
	s := &set{items: map[string]*Item{}, now: start}
	s.apply(upsert(version("a", x, "1")), upsert(version("b", x, "1")))
	if got := s.apply(deleted("a")).Reannounced(); len(got) != 0 {
		t.Errorf("announced again: %q", journal(got))
	}
}

// TestReannounced: the repeated events differ from the events of the edits.
func TestReannounced(t *testing.T) {
	s := &set{items: map[string]*Item{}, ready: true, now: start}
	s.apply(upsert(version("a", x, "1")), upsert(version("b", x, "1")))
	if got := journal(s.apply(deleted("a")).Reannounced()); got != "c:b=x1" {
		t.Errorf("announced again: %q", got)
	}
}

// TestTick: the times of changes increase, even if the clock is set back.
func TestTick(t *testing.T) {
	for _, tt := range []struct{ last, now, want int64 }{{5, 9, 9}, {5, 5, 6}, {5, 1, 6}} {
		if got := Tick(tt.last, time.UnixMicro(tt.now)); got != tt.want {
			t.Errorf("Tick(%d, %d) is %d, want %d", tt.last, tt.now, got, tt.want)
		}
	}
}

// TestRecorded: a LastModified in the future is unknown. Future is later than the
// clock and than the newest change.
func TestRecorded(t *testing.T) {
	for _, tt := range []struct {
		name           string
		modified, last time.Duration // from now
		known          bool
	}{
		{"past", -1, -2, true},
		{"now", 0, -2, true},
		{"future", time.Hour, -2, false},
		{"no later than the newest change", time.Hour, time.Hour, true},
		{"later than the newest change", 2 * time.Hour, time.Hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := version("a", x, "1")
			r.LastModified = start.Add(tt.modified)
			s := &set{items: map[string]*Item{}, ready: true, now: start, last: start.Add(tt.last).UnixMicro()}
			for _, e := range []Edit{upsert(r), created(r), {Type: resourcesync.Deleted, Key: "a", Resource: r}} {
				for _, ev := range s.apply(e).Events {
					if ev.Resource.LastModified.IsZero() == tt.known {
						t.Errorf("%s: last modified %v", e.Type, ev.Resource.LastModified)
					}
				}
				s.last = start.Add(tt.last).UnixMicro()
			}
			if r.LastModified.IsZero() {
				t.Error("the writer's resource was written to")
			}
		})
	}
}

func TestCheck(t *testing.T) {
	long := strings.Repeat("k", resourcesync.MaxKeyLength)
	link := version("a", x, "")
	link.Links = []resourcesync.Link{{Rel: resourcesync.RelVia, Href: "/relative"}}
	for _, tt := range []struct {
		r             *resourcesync.Resource
		check, fields string // what the errors say
	}{
		{version("a", x, ""), "", ""},
		{version(long, x, ""), "", ""},
		{version(long+"k", x, ""), "721 bytes", "721 bytes"},
		{version("", x, ""), `the resource at "` + x + `" has no key`, "has no key"},
		{version("a", "/relative", ""), `resource "a"`, `resource "a"`},
		{version("a", "https://example.org:http/", ""), `the invalid port "http"`, `the invalid port "http"`},
		{link, "", "Links[0].Href"},
	} {
		for want, err := range map[*string]error{&tt.check: Check(tt.r), &tt.fields: CheckFields(tt.r)} {
			if (*want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), *want) {
				t.Errorf("%.20q: %v, want %q", tt.r.Key, err, *want)
			}
		}
	}
}
