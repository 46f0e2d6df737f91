package hub

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// retryMax is the longest wait between two attempts, whatever the number of
// failures and whatever a callback asks for.
const retryMax = 6 * time.Hour

// backoff returns how long to wait after a number of failures, at least one: first,
// doubled with each further one, more or less, so that those who failed together do
// not come back together.
func backoff(first time.Duration, failures int) time.Duration {
	d := min(first, retryMax)
	for range failures - 1 {
		if d >= retryMax/2 {
			d = retryMax
			break
		}
		d *= 2
	}
	return vary(d)
}

// vary returns d, give or take a fifth.
func vary(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

// retryAfter returns how long an answer asks to wait, in seconds or by a date, at
// most retryMax; 0 if it does not ask or not so that it can be understood.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if value == "" {
		return 0
	}
	if n, err := strconv.ParseUint(value, 10, 32); err == nil {
		return min(time.Duration(n)*time.Second, retryMax)
	}
	if t, err := http.ParseTime(value); err == nil {
		return min(max(t.Sub(now), 0), retryMax)
	}
	return 0
}
