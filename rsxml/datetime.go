package rsxml

import "time"

// parseDatetime parses a W3C Datetime in any of its precisions. What is left out
// is the beginning of the year, month, day or minute. The zero time.Time is
// refused, because it would read as "not stated" ever after, and so are times
// whose year in UTC has not four digits.
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
	// UnmarshalText takes nothing but RFC 3339, unlike time.Parse.
	if t.UnmarshalText([]byte(s)) != nil || t.IsZero() {
		return time.Time{}, false
	}
	if u := t.Unix(); u < minTime || u > maxTime {
		return time.Time{}, false
	}
	return t.UTC(), true
}

// guessDatetime is parseDatetime for the real world: a space may stand for the
// T, and where the zone is missing it is UTC.
func guessDatetime(s string) (time.Time, bool) {
	if len(s) > 10 && s[10] == ' ' {
		s = s[:10] + "T" + s[11:]
	}
	if t, ok := parseDatetime(s); ok {
		return t, true
	}
	return parseDatetime(s + "Z")
}
