package providertest

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

var resourceRules = []rule{
	{"Resources/order", "Provider.Resources", nil, resourcesOrder,
		"resources are in ascending byte order of their keys (in PostgreSQL, COLLATE \"C\")"},
	{"Resources/unique", "Provider", nil, resourcesUnique, "no two resources have the same key"},
	{"Resources/valid", "Resource", nil, resourcesValid, "every resource has a key of 1 to MaxKeyLength bytes and a URI that can be published"},
	{"Resources/complete", "Provider.Resources", needs{wanted}, resourcesComplete,
		"exactly the expected resources are yielded, with all their fields"},
	{"Resources/range", "Range", nil, resourcesRange, "a range contains the keys from From, inclusive, to To, exclusive"},
	{"Resources/writers", "Provider.Resources", needs{editing}, resourcesWriters,
		"a resource that stays in the set is yielded once, in order, while others come and go"},
}

func resourcesOrder(ctx context.Context, s *subject) {
	all := s.list(ctx)
	for i, b := range all {
		if a := all[max(i-1, 0)]; b.Key < a.Key {
			fail("%v precedes %v", a, b)
		}
	}
}

func resourcesUnique(ctx context.Context, s *subject) {
	seen := map[string]bool{}
	for _, r := range s.list(ctx) {
		if seen[r.Key] {
			fail("%v is yielded twice", r)
		}
		seen[r.Key] = true
	}
}

func resourcesValid(ctx context.Context, s *subject) {
	for _, r := range s.list(ctx) {
		checkResource(r)
	}
}

func checkResource(r resourcesync.Resource) {
	if n := len(r.Key); n < 1 || n > resourcesync.MaxKeyLength {
		fail("key %v has %d bytes, expected 1 to %d", r, n, resourcesync.MaxKeyLength)
	}
	ensure(rsxml.CheckURI(r.URI), "%v", r)
}

func resourcesComplete(ctx context.Context, s *subject) {
	got := members(s.list(ctx))
	for _, want := range s.Want {
		r, found := got[want.Key]
		switch {
		case !found:
			fail("%v is missing", want)
		case !s.Equal(r, want):
			fail("%v: %s", want, describeDifference(r, want))
		}
		delete(got, want.Key)
	}
	for _, r := range got {
		fail("%v is yielded but not expected", r)
	}
}

func resourcesRange(ctx context.Context, s *subject) {
	all := s.list(ctx)
	for _, r := range ranges(all) {
		equal(s.listRange(ctx, r), within(all, r), "range %v", r)
	}
}

// within returns the resources in r.
func within(all []resourcesync.Resource, r resourcesync.Range) []resourcesync.Resource {
	return filter(all, func(x resourcesync.Resource) bool { return r.Contains(x.Key) })
}

// ranges returns ranges that begin and end at keys, just after them, and between them, and
// the range of all keys.
func ranges(all []resourcesync.Resource) []resourcesync.Range {
	points := []string{"", "\x01", "\U0010FFFF"}
	for _, r := range sample(all, 100) {
		points = append(points, r.Key)
		if len(r.Key) < resourcesync.MaxKeyLength {
			points = append(points, r.Key+"\x01")
		}
		if _, n := utf8.DecodeLastRuneInString(r.Key); n < len(r.Key) {
			points = append(points, r.Key[:len(r.Key)-n])
		}
	}
	slices.Sort(points)
	points = slices.Compact(points)
	out := []resourcesync.Range{{}}
	// Each point is a beginning and an end. Other ranges are at some of them, because providers
	// answer each with a query.
	for i, p := range points {
		if i+1 < len(points) {
			out = append(out, resourcesync.Range{From: p, To: points[i+1]})
		}
		switch i % 4 {
		case 0:
			out = append(out, resourcesync.Range{From: p, To: points[min(i+5, len(points)-1)]})
		case 1: // empty
			out = append(out, resourcesync.Range{From: p, To: p}, resourcesync.Range{From: p, To: points[1+i/2]})
		}
		if i%16 == 3 {
			out = append(out, resourcesync.Range{From: p}, resourcesync.Range{To: p})
		}
	}
	return out
}

func resourcesWriters(ctx context.Context, s *subject) {
	stable, keys := s.list(ctx), s.spare(ctx, 2)
	first, second := s.make(keys[0]), s.make(keys[1])
	writes := map[int]func(){
		1:                   func() { s.put(ctx, first, second) },
		len(stable) / 2:     func() { s.delete(ctx, first.Key) },
		len(stable)*3/4 + 1: func() { s.put(ctx, first) },
	}
	var writer sync.WaitGroup
	queue := make(chan func(), len(writes))
	writer.Go(func() {
		for write := range queue {
			write()
		}
	})
	var failed []error
	n := 0
	all, err := collect(s.provider.Resources(ctx, resourcesync.Range{}), func() {
		n++
		if write := writes[n]; write != nil {
			done := make(chan struct{})
			queue <- func() {
				defer close(done)
				failed = append(failed, try(write))
			}
			// A provider may block writers until the end.
			select {
			case <-done:
			case <-time.After(s.Wait / 100):
			}
		}
	})
	close(queue)
	writer.Wait()
	ensure(errors.Join(append(failed, err)...), "while others write")
	all = slices.DeleteFunc(all, func(r resourcesync.Resource) bool { return slices.Contains(keys, r.Key) })
	equal(all, stable, "while others write")
}

// fieldRules check that a document can express each field of a resource. Documents omit
// other values.
var fieldRules = []rule{
	field("changefreq", "ChangeFreq", func(e, r *resourcesync.Resource) { e.ChangeFreq = r.ChangeFreq }),
	field("type", "Type", func(e, r *resourcesync.Resource) { e.Type = r.Type }),
	field("encoding", "Encoding", func(e, r *resourcesync.Resource) { e.Encoding = r.Encoding }),
	field("hashes", "Hashes", func(e, r *resourcesync.Resource) { e.Hashes = r.Hashes }),
	field("links", "Links", func(e, r *resourcesync.Resource) { e.Links = r.Links }),
	field("attrs", "Attrs", func(e, r *resourcesync.Resource) { e.Attrs = r.Attrs }),
	{"Changes/fields", "Change.Resource", needs{changer}, changesFields, "a document can express all fields of changed resources"},
}

// field returns the rule for the field that take copies.
func field(word, name string, take func(e, r *resourcesync.Resource)) rule {
	return rule{"Resources/" + word, "Resource." + name, nil, func(ctx context.Context, s *subject) {
		for _, r := range s.list(ctx) {
			alone := resourcesync.Resource{URI: "https://example.org/"}
			take(&alone, &r)
			ensure(rsxml.CheckResource(&alone), "%v", r)
		}
	}, "a document can express the value"}
}

func changesFields(ctx context.Context, s *subject) {
	head := rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ChangeList}}
	var e rsxml.Entry
	for _, c := range s.listChanges(ctx) {
		e.SetChange(&c)
		ensure(rsxml.CheckEntry(&head, &e), "%v", c)
	}
}

var coverRules = []rule{
	{"Covers/resources", "Coverer", needs{coverer}, coversResources,
		"it reports true for the URIs of the resources and for the URLs of requests for them"},
}

func coversResources(ctx context.Context, s *subject) {
	for _, r := range s.list(ctx) {
		u, err := url.Parse(r.URI)
		if err != nil || u.Opaque != "" {
			continue // no URL that a request could be for
		}
		request, err := url.ParseRequestURI(u.RequestURI())
		if err != nil {
			continue
		}
		for _, u := range []*url.URL{u, request} {
			if !s.Coverer.Covers(u) {
				fail("Covers reports false for %s, the URL of %v", u, r)
			}
		}
	}
}
