package retry

import (
	"math"
	"net/http"
	"testing"
	"time"
)

const (
	first = time.Minute
	most  = 6 * time.Hour
)

func TestV17_Wait(t *testing.T) {
	for _, c := range []struct {
		failures          int
		asked, least, max time.Duration
	}{
		{1, 0, first * 8 / 10, first},
		{2, 0, 2 * first * 8 / 10, 2 * first},
		{5, 0, 16 * first * 8 / 10, 16 * first},
		{9, 0, 256 * first * 8 / 10, 256 * first},
		{10, 0, most * 8 / 10, most},
		{math.MaxInt, 0, most * 8 / 10, most},
		{1, time.Second, first * 8 / 10, first},
		{1, time.Hour, time.Hour, time.Hour * 6 / 5},
		{1, 7 * time.Hour, most, most * 6 / 5},
		{5, 10 * time.Minute, 16 * first * 8 / 10, 16 * first},
		{10, math.MaxInt64, most, most * 6 / 5},
	} {
		seen := map[time.Duration]bool{}
		for range 100 {
			d := Policy{first, most}.Wait(c.failures, c.asked)
			if d < c.least || d > c.max {
				t.Fatalf("after %d failures, asked for %v: %v, want %v to %v", c.failures, c.asked, d, c.least, c.max)
			}
			seen[d] = true
		}
		if len(seen) < 50 {
			t.Errorf("after %d failures 100 would come back at %d times", c.failures, len(seen))
		}
	}
	if d := (Policy{10 * most, most}).Wait(1, 0); d > most {
		t.Errorf("more than Max: %v", d)
	}
}

func TestAfter(t *testing.T) {
	const century = 100 * 365 * 24 * time.Hour
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"120":                           2 * time.Minute,
		"4000000000":                    century,
		"99999999999999999999":          0,
		"-1":                            0,
		"soon":                          0,
		"1.5":                           0,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute,
		"Fri, 02 Jan 2026 03:03:05 GMT": 0,
	} {
		if got := After(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("Retry-After %q: %v, want %v", value, got, want)
		}
	}
	h := http.Header{"Retry-After": {"Fri, 02 Jan 2026 03:05:05 GMT"}, "Date": {"Fri, 02 Jan 2026 03:05:00 GMT"}}
	if got := After(h, now); got != 5*time.Second {
		t.Errorf("by the server's clock: %v", got)
	}
	if got := After(http.Header{}, now); got != 0 {
		t.Errorf("none: %v", got)
	}
}
