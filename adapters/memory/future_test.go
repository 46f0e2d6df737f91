package memory

import (
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// TestD3_FutureIsUnknown: a LastModified in the future is recorded as unknown, and a
// recorded one stays when the clock is set back.
func TestD3_FutureIsUnknown(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := &clock{start}
	s := New(&Options{Now: c.now})
	at := func(key string, after time.Duration) resourcesync.Resource {
		return resourcesync.Resource{Key: key, URI: "https://example.org/" + key, LastModified: start.Add(after)}
	}
	want := func(key string, modified time.Time) {
		t.Helper()
		if r := known(t, s, key); !r.LastModified.Equal(modified) {
			t.Errorf("%s was last modified at %v, want %v", key, r.LastModified, modified)
		}
	}
	c.Time = start.Add(time.Minute)
	given := at("future", time.Hour)
	put(t, s, at("now", time.Minute), given)
	want("now", start.Add(time.Minute))
	want("future", time.Time{})
	if given.LastModified.IsZero() {
		t.Error("the caller's resource was written to")
	}
	changes := journal(t, s)
	c.Time = start.Add(-time.Hour)
	put(t, s, at("now", time.Minute), at("future", time.Hour))
	if _, err := s.Scan(t.Context(), listing(at("now", time.Minute), at("future", time.Hour))); err != nil {
		t.Fatal(err)
	}
	if got := journal(t, s); got != changes {
		t.Errorf("the same again is a change:\n%s\nbefore:\n%s", got, changes)
	}
	want("now", start.Add(time.Minute))
}
