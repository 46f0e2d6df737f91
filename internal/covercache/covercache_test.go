package covercache

import (
	"net/url"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// A set covers some URLs, and counts its calls.
type set struct {
	urls  map[string]bool
	asked int
}

func (s *set) covers(u *url.URL) bool {
	s.asked++
	return s.urls[u.String()]
}

func parse(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestURLs: URLs that differ only in escaped slashes, the host or the query have separate
// answers.
func TestURLs(t *testing.T) {
	s := &set{urls: map[string]bool{"https://example.org/a%2Fb?c": true}}
	c := New(s.covers)
	c.Watch(true)
	for range 2 { // the second time from the cache
		for raw, want := range map[string]bool{
			"https://example.org/a%2Fb?c":     true,
			"https://other.example/a%2Fb?c":   false,
			"https://example.org/a/b?c":       false,
			"https://example.org/a%2Fb":       false,
			"https://example.org/a%2Fb%3Fc":   false,
			"https://example.org/a%2Fb?c%FF?": false,
		} {
			if got := c.Covers(parse(t, raw)); got != want {
				t.Errorf("%s: %v, want %v", raw, got, want)
			}
		}
	}
	if s.asked != 6 {
		t.Errorf("asked %d times about 6 URLs", s.asked)
	}
}

// TestFreshness: each step changes the set, and looks up the URL.
func TestFreshness(t *testing.T) {
	const add, remove = 1, 2
	type step struct {
		after  time.Duration
		change int
		wake   bool
		want   bool
		asked  int // in all
	}
	for name, tt := range map[string]struct {
		watched bool
		steps   []step
	}{
		"a new resource, unwatched": {false, []step{{asked: 1}, {asked: 2}, {change: add, want: true, asked: 3}, {want: true, asked: 3}}},
		"a new resource, watched":   {true, []step{{asked: 1}, {asked: 1}, {change: add, wake: true, want: true, asked: 2}, {want: true, asked: 2}}},
		"a wake that is lost":       {true, []step{{asked: 1}, {change: add, after: maxAge - 1, asked: 1}, {after: 1, want: true, asked: 2}}},
		"a resource that has left":  {true, []step{{change: add, want: true, asked: 1}, {change: remove, wake: true, want: true, asked: 1}, {after: maxAge, asked: 2}}},
		"another change":            {true, []step{{change: add, want: true, asked: 1}, {wake: true, want: true, asked: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const raw = "/papers/1"
				s := &set{urls: map[string]bool{}}
				c := New(s.covers)
				c.Watch(tt.watched)
				for i, step := range tt.steps {
					time.Sleep(step.after)
					switch step.change {
					case add:
						s.urls[raw] = true
					case remove:
						delete(s.urls, raw)
					}
					if step.wake {
						c.Wake()
					}
					if got := c.Covers(parse(t, raw)); got != step.want || s.asked != step.asked {
						t.Errorf("step %d: %v after %d questions, want %v after %d", i, got, s.asked, step.want, step.asked)
					}
				}
			})
		})
	}
}

// TestLateAnswer: an answer is not kept if the set has changed during the lookup.
func TestLateAnswer(t *testing.T) {
	var c *Cache
	covered := false
	c = New(func(*url.URL) bool {
		before := covered
		covered = true
		c.Wake()
		return before
	})
	c.Watch(true)
	for _, want := range []bool{false, true} {
		if got := c.Covers(parse(t, "/papers/1")); got != want {
			t.Errorf("covered: %v, want %v", got, want)
		}
	}
}

// TestUnwatched: answers that were cached while the set was watched are dropped when
// the watch ends.
func TestUnwatched(t *testing.T) {
	s := &set{urls: map[string]bool{}}
	c := New(s.covers)
	u := parse(t, "/papers/1")
	c.Watch(true)
	c.Covers(u)
	c.Watch(false)
	s.urls["/papers/1"] = true
	if !c.Covers(u) {
		t.Error("the answer is from before")
	}
}

// TestBound: any number of URLs takes bounded memory, and the answers stay correct.
func TestBound(t *testing.T) {
	c := New(func(u *url.URL) bool { return len(u.Path)%2 == 0 })
	c.Watch(true)
	for i := range 3 * maxURLs {
		path := "/" + strconv.Itoa(i)
		if got := c.Covers(&url.URL{Path: path}); got != (len(path)%2 == 0) {
			t.Fatalf("%s: %v", path, got)
		}
		if len(c.known) > maxURLs {
			t.Fatalf("%d URLs are known", len(c.known))
		}
	}
}

func BenchmarkCovers(b *testing.B) {
	c := New(func(*url.URL) bool { return true })
	u := &url.URL{Path: "/papers/1234", RawQuery: "view=full"}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.Covers(u)
		}
	})
}
