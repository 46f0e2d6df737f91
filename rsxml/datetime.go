package rsxml

import (
	"strings"
	"time"
)

// parseDatetime parses a W3C Datetime of any precision. Omitted parts are those of the
// beginning of the year, month, day or minute. It refuses the zero time.Time, which
// would mean "not stated", and times whose year in UTC does not have four digits.
func parseDatetime(s string) (t time.Time, ok bool) {
	switch n := len(s); {
	case n == len("YYYY"):
		s += "-01-01T00:00:00Z"
	case n == len("YYYY-MM"):
		s += "-01T00:00:00Z"
	case n == len("YYYY-MM-DD"):
		s += "T00:00:00Z"
	case n > len("YYYY-MM-DDThh:mm") && s[16] != ':':
		s = s[:16] + ":00" + s[16:]
	}
	if !hasForm(s) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.IsZero() || t.Unix() < minTime || t.Unix() > maxTime {
		return time.Time{}, false
	}
	return t.UTC(), true
}

// hasForm reports whether s has the form of a complete W3C Datetime. time.Parse is less
// strict: it accepts an hour of one digit, a comma before the fraction, and offsets of
// 24 hours or 60 minutes.
func hasForm(s string) bool {
	const form = "0000-00-00T00:00:00"
	if len(s) <= len(form) {
		return false
	}
	for i := range len(form) {
		if s[i] != form[i] && (form[i] != '0' || !isDigit(s[i])) {
			return false
		}
	}
	zone := s[len(form):]
	if fraction, ok := strings.CutPrefix(zone, "."); ok {
		zone = strings.TrimLeft(fraction, "0123456789")
		if len(zone) == len(fraction) {
			return false
		}
	}
	return zone == "Z" || len(zone) == len("+hh:mm") && zone[1:] < "24" && zone[4] < '6'
}
