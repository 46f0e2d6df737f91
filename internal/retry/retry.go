// Package retry computes the waits between attempts to send.
package retry

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// A Policy limits the waits between attempts.
type Policy struct {
	First time.Duration // after the first failure
	Max   time.Duration // after many
}

// Wait returns the time to wait after a number of successive failures, at least one. The
// wait doubles with each failure, up to p.Max, and is shortened at random by up to a fifth,
// so that simultaneous failures do not lead to simultaneous retries. If the server has asked
// for a longer wait, Wait returns that, up to p.Max, and at random up to a fifth more.
func (p Policy) Wait(failures int, asked time.Duration) time.Duration {
	d := min(p.First, p.Max)
	for range failures - 1 {
		if d >= p.Max/2 {
			d = p.Max
			break
		}
		d *= 2
	}
	if asked = min(asked, p.Max); asked >= d {
		return asked + rand.N(asked/5+1)
	}
	return d - rand.N(d/5+1)
}

// After returns the wait that a response requests, in seconds or until a date (RFC 9110,
// section 10.2.3), or zero if it requests none or the date has passed. It compares a date
// with the Date of the response or, if there is none, with now.
func After(h http.Header, now time.Time) time.Duration {
	const most = 100 * 365 * 24 * time.Hour
	value := h.Get("Retry-After")
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(value, 10, 63); err == nil {
		return time.Duration(min(seconds, uint64(most/time.Second))) * time.Second
	}
	t, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(t.Sub(now), 0), most)
}
