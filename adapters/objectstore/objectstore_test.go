package objectstore_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
)

// TestEveryMoment checks that after each change of an object every link that a Destination can find
// leads to a complete document, and that nothing else stays in the bucket.
func TestEveryMoment(t *testing.T) {
	each(t, func(t *testing.T, b server) {
		s := newSite(t, b.client)
		s.dumps, s.options.Grace, s.options.DumpEvery = true, -1, -1
		b.put(prefix+"rs/papers/resourcelist/"+strings.Repeat("a", 32)+".xml", "foreign")
		b.put("other", "foreign")
		foreign := []string{"other", prefix + "rs/papers/resourcelist/" + strings.Repeat("a", 32) + ".xml"}
		moment, found := 0, false
		s.client.changed = func() {
			moment++
			_, _, err := crawl(b.public+prefix, origin)
			if err != nil && (found || !errors.Is(err, errNone)) && !t.Failed() {
				t.Errorf("moment %d: %v", moment, err)
			}
			found = found || err == nil
		}
		for _, step := range []struct {
			name      string
			resources int
			change    func()
		}{
			{"one page", 5, func() { s.put(1, 5, "first") }},
			{"index", 35, func() { s.put(6, 35, "first") }},
			{"a change in a page", 35, func() { s.put(33, 33, "second") }},
			{"one page again", 4, func() { s.delete(5, 35) }},
		} {
			step.change()
			moment = 0
			s.write()
			if moment == 0 {
				t.Errorf("%s: nothing changed", step.name)
			}
			s.check(b, step.resources, foreign...)
		}
	})
}

// TestHeaders checks that objects have the headers with which readers and caches need them.
func TestHeaders(t *testing.T) {
	each(t, func(t *testing.T, b server) {
		s := newSite(t, b.client)
		s.dumps = true
		s.put(1, 30, "first")
		for _, zipped := range []bool{false, true} {
			s.options.Gzip = zipped
			report := s.write()
			kinds := make(map[string]bool)
			for _, name := range report.Written {
				res, err := get(b.public + prefix + name)
				must(t, err)
				res.Body.Close()
				want := []string{"application/xml", "", "public, no-cache"}
				switch {
				case strings.HasSuffix(name, ".zip"):
					want = []string{"application/zip", "", "public, max-age=86400, immutable"}
				case zipped:
					want[1] = "gzip"
				}
				if strings.Contains(name, "/changelist/") && res.Header.Get("Cache-Control") != want[2] {
					want[2] = "public, max-age=86400, immutable"
					kinds["closed"] = true
				}
				got := []string{res.Header.Get("Content-Type"), res.Header.Get("Content-Encoding"), res.Header.Get("Cache-Control")}
				if !slices.Equal(got, want) {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
				kinds[want[0]] = true
			}
			if !kinds["application/xml"] || kinds["application/zip"] == zipped {
				t.Errorf("gzip %t: kinds %v", zipped, kinds)
			}
			s.check(b, 30)
		}
	})
}

// TestUnchanged checks that a run without changes stores no document, and does not ask for each one;
// and that one change stores four.
func TestUnchanged(t *testing.T) {
	each(t, func(t *testing.T, b server) {
		s := newSite(t, b.client)
		s.put(1, 400, "first")
		first := s.write()
		again := s.write()
		if len(s.client.puts) > 0 || again.Documents != first.Documents || first.Documents < 40 || s.client.heads > 40 {
			t.Errorf("%d of %d documents stored, %d asked for", len(s.client.puts), again.Documents, s.client.heads)
		}
		s.put(42, 42, "second")
		if s.write(); len(s.client.puts) > 6 || len(s.client.puts) < 4 {
			t.Errorf("stored: %q", s.client.puts)
		}
		s.check(b, 400)
	})
}

// TestOthers checks that objects of other programs are neither replaced nor removed.
func TestOthers(t *testing.T) {
	each(t, func(t *testing.T, b server) {
		s := newSite(t, b.client)
		s.put(1, 30, "first")
		b.put(prefix+".well-known/resourcesync", "foreign")
		for range 2 { // once more after the failure
			if _, err := s.try(); err == nil || !strings.Contains(err.Error(), "another program has stored it") {
				t.Errorf("error %v", err)
			}
		}
		o, err := b.client.Head(t.Context(), prefix+".well-known/resourcesync")
		if err != nil || o.Size != int64(len("foreign")) || o.Digest != "" {
			t.Errorf("the object of another program: %+v, %v", o, err)
		}
		must(t, b.client.Delete(t.Context(), prefix+".well-known/resourcesync", o.ETag))
		s.write()
		page := s.pages(b)[0]
		b.put(page, "foreign")
		if _, err := s.try(); err == nil || !strings.Contains(err.Error(), page[len(prefix):]) {
			t.Errorf("error %v", err)
		}
		s.delete(1, 25)
		s.options.Grace = -1
		report := s.write()
		if removed := report.Removed; len(removed) == 0 || slices.Contains(removed, page[len(prefix):]) {
			t.Errorf("removed: %q", removed)
		}
		s.check(b, 5, page)
	})
}

// TestConditionsOfServers checks what real servers do with conditions of writes that are not met.
func TestConditionsOfServers(t *testing.T) {
	each(t, func(t *testing.T, b server) {
		b.put("present", "foreign")
		const etag = "d41d8cd98f00b204e9800998ecf8427e" // of no object
		for name, test := range map[string]struct {
			key       string
			condition objectstore.Condition
		}{
			"exists":  {"present", objectstore.Condition{IfNone: true}},
			"differs": {"present", objectstore.Condition{IfMatch: etag}},
			"gone":    {"gone", objectstore.Condition{IfMatch: etag}},
		} {
			_, err := b.client.Put(t.Context(), test.key, strings.NewReader("text"), 4, objectstore.Header{Type: "text/plain", Digest: "digest"}, test.condition)
			if !errors.Is(err, objectstore.ErrCondition) {
				t.Errorf("%s: error %v", name, err)
			}
		}
		if keys := b.keys(); !slices.Equal(keys, []string{"present"}) {
			t.Errorf("objects %q", keys)
		}
	})
}

// pages returns the keys of the pages of the Resource List.
func (s *site) pages(b server) []string {
	return slices.DeleteFunc(b.keys(), func(key string) bool { return !strings.Contains(key, "/resourcelist/") })
}

// TestInvalid checks that invalid options are refused.
func TestInvalid(t *testing.T) {
	for want, o := range map[string]objectstore.Options{
		"slash":              {Prefix: "site"},
		"shorter than 100ms": {Lease: time.Millisecond},
		"the lease of -1s":   {Lease: -time.Second},
	} {
		if _, err := objectstore.New(nil, &o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
