package hub

import (
	"math"
	"net/http"
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	for failures, want := range map[int]time.Duration{1: time.Minute, 2: 2 * time.Minute, 5: 16 * time.Minute, 9: 256 * time.Minute, 10: retryMax, math.MaxInt: retryMax} {
		seen := map[time.Duration]bool{}
		for range 100 {
			d := backoff(time.Minute, failures)
			if d < want*8/10 || d > want*12/10 {
				t.Fatalf("after %d failures: %v, want %v or so", failures, d, want)
			}
			seen[d] = true
		}
		if len(seen) < 50 {
			t.Errorf("V17: after %d failures 100 would come back at %d times", failures, len(seen))
		}
	}
	if d := backoff(10*retryMax, 1); d > retryMax*12/10 {
		t.Errorf("more than retryMax: %v", d)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"120":                           2 * time.Minute,
		"4000000000":                    retryMax,
		"99999999999999999999":          0,
		"-1":                            0,
		"soon":                          0,
		"1.5":                           0,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute,
		"Fri, 02 Jan 2026 03:03:05 GMT": 0,
		"Fri, 02 Jan 2099 03:04:05 GMT": retryMax,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("Retry-After %q: %v, want %v", value, got, want)
		}
	}
	if got := retryAfter(http.Header{}, now); got != 0 {
		t.Errorf("none: %v", got)
	}
}
