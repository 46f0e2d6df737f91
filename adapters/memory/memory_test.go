package memory

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/providertest"
	"github.com/resourcesync-go/resourcesync/scan"
)

// resource returns a resource with this key; stamp tells versions apart.
func resource(key, stamp string) resourcesync.Resource {
	return resourcesync.Resource{Key: key, URI: "https://example.org/" + key, Type: "version/v" + url.PathEscape(stamp), Stamp: stamp}
}

func put(t testing.TB, s *Set, resources ...resourcesync.Resource) {
	t.Helper()
	if err := s.Put(t.Context(), resources...); err != nil {
		t.Fatal(err)
	}
}

// known returns the resource with this key, or a zero one.
func known(t testing.TB, s *Set, key string) resourcesync.Resource {
	t.Helper()
	found, err := s.Known(t.Context(), []string{"none", key})
	if err != nil || len(found) != 2 || found[0].Key != "" {
		t.Errorf("%+v, %v", found, err)
		return resourcesync.Resource{}
	}
	return found[1]
}

// all formats each value of seq in a few words.
func all[T any](t testing.TB, seq iter.Seq2[T, error], say func(T) string) string {
	t.Helper()
	var words []string
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, say(v))
	}
	return strings.Join(words, " ")
}

func contents(t testing.TB, s *Set) string {
	t.Helper()
	return all(t, s.Resources(t.Context(), resourcesync.Range{}), func(r resourcesync.Resource) string { return r.Key + r.Stamp })
}

func journal(t testing.TB, s *Set) string {
	t.Helper()
	return all(t, s.Changes(t.Context(), resourcesync.Interval{}), func(c resourcesync.Change) string {
		return string(c.Type[0]) + ":" + c.Resource.Key + c.Resource.Stamp
	})
}

// listing is a scanner over these resources.
func listing(resources ...resourcesync.Resource) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for _, r := range resources {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// A clock is set by tests.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestProvider(t *testing.T) {
	backwards := func() func() time.Time {
		now := noon
		return func() time.Time {
			now = now.Add(-time.Hour)
			return now
		}
	}
	for _, tt := range []struct {
		name string
		opts func() *Options
	}{
		{"default", func() *Options { return nil }},
		{"await a scan", func() *Options { return &Options{SetOptions: scan.SetOptions{AwaitScan: true}} }},
		{"small windows", func() *Options { return &Options{Window: time.Microsecond} }},
		{"retain everything", func() *Options { return &Options{Retain: -1} }},
		{"a clock that goes back", func() *Options { return &Options{Now: backwards()} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			providertest.Run(t, func(t *testing.T, resources []resourcesync.Resource) (resourcesync.Provider, *providertest.Options) {
				s := New(tt.opts())
				if _, err := s.Scan(t.Context(), listing(resources...)); err != nil {
					t.Fatal(err)
				}
				return s, &providertest.Options{
					Put:       s.Put,
					Delete:    s.Delete,
					ExactStat: true,
				}
			})
		})
	}
}

func TestPutAndDelete(t *testing.T) {
	s := New(nil)
	put(t, s, resource("b", "1"), resource("a", "1"), resource("a", "2"))
	put(t, s, resource("b", "1"))
	put(t, s, resource("c", "1"), resource("b", "2"))
	if err := s.Delete(t.Context(), "a", "never", "a"); err != nil {
		t.Error(err)
	}
	if err := s.Delete(t.Context()); err != nil {
		t.Error(err)
	}
	put(t, s)
	if got, want := contents(t, s), "b2 c1"; got != want {
		t.Errorf("the set is %q, want %q", got, want)
	}
	if got, want := journal(t, s), "c:b1 c:a1 u:a2 c:c1 u:b2 d:a"; got != want {
		t.Errorf("the journal is %q, want %q", got, want)
	}
	if s.Len() != 2 {
		t.Errorf("Len is %d", s.Len())
	}
}

func TestPutRefuses(t *testing.T) {
	for _, tt := range []struct {
		name     string
		resource resourcesync.Resource
		want     string
	}{
		{"no key", resourcesync.Resource{URI: "https://example.org/a"}, `the resource at "https://example.org/a" has no key`},
		{"a long key", resource(strings.Repeat("k", resourcesync.MaxKeyLength+1), ""), "721 bytes, of at most 720"},
		{"no URI", resourcesync.Resource{Key: "a"}, `resource "a": rsxml: URI "" is not absolute`},
		{"a relative URI", resourcesync.Resource{Key: "a", URI: "/a"}, "is not absolute"},
		{"a space", resourcesync.Resource{Key: "a", URI: "https://example.org/a b"}, "%20"},
		{"a bad link", resourcesync.Resource{Key: "a", URI: "https://example.org/a", Links: []resourcesync.Link{{Href: "https://example.org/"}}}, `resource "a": rsxml: Links[0].Rel`},
		{"a bad digest", resourcesync.Resource{Key: "a", URI: "https://example.org/a", Hashes: []resourcesync.Hash{{Algorithm: "md5", Digest: "z"}}}, "Hashes[0]"},
		{"no number for a port", resourcesync.Resource{Key: "a", URI: "https://example.org:http/"}, "invalid port"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New(nil)
			err := s.Put(t.Context(), resource("good", ""), tt.resource)
			if err == nil || !strings.HasPrefix(err.Error(), "memory: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want one with %q", err, tt.want)
			}
			if s.Len() != 0 || journal(t, s) != "" {
				t.Error("a part of the refused batch has been put")
			}
		})
	}
}

// TestCopies checks that a set shares nothing with its callers: later changes of their
// own resources have no effect on it.
func TestCopies(t *testing.T) {
	s := New(nil)
	r := resource("a", "1")
	r.Hashes = []resourcesync.Hash{{Algorithm: "md5", Digest: "00"}}
	put(t, s, r)
	r.Hashes[0].Digest = "11"

	got := known(t, s, "a")
	if len(got.Hashes) != 1 || got.Hashes[0].Digest != "00" {
		t.Fatalf("Known: %+v", got)
	}
	got.Hashes[0].Digest = "22"
	put(t, s, got)
	if got, want := journal(t, s), "c:a1 u:a1"; got != want {
		t.Errorf("the journal is %q, want %q", got, want)
	}
	if known(t, s, "b").Key != "" {
		t.Error("Get found what is not there")
	}
}

// TestSnapshot checks that a snapshot does not change while it is read.
func TestSnapshot(t *testing.T) {
	s := New(nil)
	for i := range 1000 {
		put(t, s, resource(fmt.Sprintf("%03d", i), "1"))
	}
	n := 0
	for r, err := range s.Resources(t.Context(), resourcesync.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%03d", n); r.Key != want || r.Stamp != "1" {
			t.Fatalf("%s%s comes where %s1 is expected", r.Key, r.Stamp, want)
		}
		// On both sides of the current position.
		if err := s.Delete(t.Context(), fmt.Sprintf("%03d", (n+500)%1000)); err != nil {
			t.Error(err)
		}
		put(t, s, resource(fmt.Sprintf("%03d", (n+1)%1000), "2"), resource(fmt.Sprintf("new%d", n), ""))
		n++
	}
	if n != 1000 {
		t.Errorf("%d resources", n)
	}
	n = 0
	for _, err := range s.Changes(t.Context(), resourcesync.Interval{}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), fmt.Sprintf("new%d", n)); err != nil {
			t.Error(err)
		}
		n++
	}
	if n != 4000 {
		t.Errorf("%d changes", n)
	}
}

// TestBytes checks that pages and windows are also divided by the size of their
// entries.
func TestBytes(t *testing.T) {
	s := New(nil)
	large := strings.Repeat("x", 1_000_000)
	for i := range 53 {
		r := resource(fmt.Sprint(i), "")
		r.Attrs = []resourcesync.Attr{{Space: "urn:weight", Name: "w", Value: large}}
		put(t, s, r)
	}
	cuts, err := s.Cuts(t.Context(), nil, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	windows, err := s.Windows(t.Context(), 10_000)
	if err != nil {
		t.Fatal(err)
	}
	if len(cuts) != 2 || len(windows) != 2 {
		t.Errorf("50 MiB of entries are in %d pages and %d windows, want 2 of each", len(cuts), len(windows))
	}
}

// TestEmpty checks that an empty set is as old as its journal, so that its empty list
// can state since when it has been empty.
func TestEmpty(t *testing.T) {
	s := New(&Options{Now: (&clock{noon}).now})
	st, errStat := s.Stat(t.Context(), resourcesync.Range{})
	part, errPart := s.Stat(t.Context(), resourcesync.Range{From: "a"})
	since, errSince := s.Since(t.Context())
	cuts, errCuts := s.Cuts(t.Context(), nil, 10)
	if err := errors.Join(errStat, errPart, errSince, errCuts); err != nil {
		t.Fatal(err)
	}
	for _, got := range []time.Time{st.LastModified, part.LastModified, since, cuts[0].Newest} {
		if !got.Equal(noon) {
			t.Errorf("Stat %v, of a range %v, Since %v, Cuts %v: want %v in all", st, part, since, cuts, noon)
		}
	}
}

func TestNoSize(t *testing.T) {
	s := New(nil)
	if _, err := s.Cuts(t.Context(), nil, 0); err == nil {
		t.Error("pages of no resources have been cut")
	}
	if _, err := s.Windows(t.Context(), 0); err == nil {
		t.Error("windows of no changes have been cut")
	}
}

func TestCanceled(t *testing.T) {
	s := New(nil)
	put(t, s, resource("a", ""))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range methods(ctx, s) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// methods calls all reading methods and returns their errors.
func methods(ctx context.Context, s *Set) map[string]error {
	errs := map[string]error{}
	_, errs["Stat"] = s.Stat(ctx, resourcesync.Range{})
	_, errs["Stat of a range"] = s.Stat(ctx, resourcesync.Range{From: "a", To: "b"})
	_, errs["Cuts"] = s.Cuts(ctx, nil, 10)
	_, errs["Since"] = s.Since(ctx)
	_, errs["Windows"] = s.Windows(ctx, 10)
	for _, err := range s.Resources(ctx, resourcesync.Range{}) {
		errs["Resources"] = err
	}
	for _, err := range s.Changes(ctx, resourcesync.Interval{}) {
		errs["Changes"] = err
	}
	return errs
}

// TestStampAlone checks that a new Stamp is kept but is not a change.
func TestStampAlone(t *testing.T) {
	s := New(nil)
	put(t, s, resource("a", "1"))
	before, err := s.Stat(t.Context(), resourcesync.Range{})
	if err != nil {
		t.Fatal(err)
	}
	r := resource("a", "1")
	r.Stamp = "2"
	put(t, s, r)
	after, err := s.Stat(t.Context(), resourcesync.Range{})
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range s.Resources(t.Context(), resourcesync.Range{}) {
		if err != nil || r.Stamp != "2" {
			t.Errorf("readers see the stamp %q, %v", r.Stamp, err)
		}
	}
	if got := known(t, s, "a"); got.Stamp != "2" || after != before || journal(t, s) != "c:a1" {
		t.Errorf("stamp %q, %v after %v, journal %q", got.Stamp, after, before, journal(t, s))
	}
}

// TestMovedURI checks that a new URI for a key is a deletion and a creation:
// Destinations do not know keys.
func TestMovedURI(t *testing.T) {
	s := New(nil)
	put(t, s, resource("a", "1"))
	moved := resource("a", "1")
	moved.URI = "https://example.org/moved"
	put(t, s, moved)
	said := all(t, s.Changes(t.Context(), resourcesync.Interval{}), func(c resourcesync.Change) string {
		return string(c.Type) + " " + c.Resource.URI
	})
	if want := "created https://example.org/a deleted https://example.org/a created https://example.org/moved"; said != want {
		t.Errorf("the journal says %q, want %q", said, want)
	}
	if got := contents(t, s); got != "a1" {
		t.Errorf("the set is %q", got)
	}
}
