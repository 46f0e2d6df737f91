package topic

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

const (
	minRetry = time.Second // that a hub can ask for
	maxRetry = time.Hour
)

// backoff returns how long to wait after that many failures in a row, one at
// least: first at first, twice as long with each, up to one hour, less up to half
// of it by chance. If a hub asks for a time, it is given that, between one second
// and one hour, and up to a quarter more by chance.
func backoff(failures int, first, asked time.Duration) time.Duration {
	if asked > 0 {
		d := min(max(asked, minRetry), maxRetry)
		return d + rand.N(d/4)
	}
	d := first
	for i := 1; i < failures && d < maxRetry; i++ {
		d *= 2
	}
	d = min(d, maxRetry)
	return d - rand.N(d/2+1)
}

// retryAfter returns how long a hub asks to wait, in seconds or until a date
// (RFC 9110, section 10.2.3), and zero if it does not say or that is over.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(v, 10, 63); err == nil {
		return time.Duration(min(seconds, uint64(maxRetry/time.Second))) * time.Second
	}
	t, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	// By the hub's clock, if it tells.
	now := time.Now()
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return max(t.Sub(now), 0)
}
