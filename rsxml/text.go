package rsxml

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// appendText appends s as the text of an element or the value of an attribute in
// double quotes. It escapes the five characters that the Sitemap protocol names, and
// white space other than the space, which a parser would change in an attribute.
// Characters that XML cannot express become U+FFFD.
func appendText(b []byte, s string) []byte {
	n := len(b)
	b = slices.Grow(b, len(s))[:n+len(s)]
	if i := copyPlain(b[n:], s); i < len(s) {
		return appendEscaped(b[:n+i], s[i:])
	}
	return b
}

// copyPlain copies s to dst, which has the same length, and returns the number of
// bytes copied: up to a special byte, or all. Hashes and URIs are most of the bytes of
// a list and seldom contain special ones, so it copies eight bytes at a time.
func copyPlain(dst []byte, s string) int {
	i := 0
	for ; i <= len(s)-8; i += 8 {
		w := word(s[i : i+8])
		if suspicious(w) && hasSpecial(s[i:i+8]) {
			return i
		}
		binary.LittleEndian.PutUint64(dst[i:i+8], w)
	}
	for ; i < len(s); i++ {
		if special[s[i]] {
			return i
		}
		dst[i] = s[i]
	}
	return i
}

// word returns the first eight bytes of s. It compiles to one load.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// The lowest and the highest bit of each byte of a word.
const (
	ones  = 0x01_01_01_01_01_01_01_01
	highs = 0x80_80_80_80_80_80_80_80
)

// suspicious reports whether a byte of w may be special: below '(', which includes a
// few that are not; '<' or '>', which differ in one bit; or beyond ASCII. Such a byte
// has its highest bit set in w, or a subtraction borrows into it.
func suspicious(w uint64) bool {
	angle := (w | ('<'^'>')*ones) ^ '>'*ones
	return (w|(w-'('*ones)|(angle-ones))&highs != 0
}

func hasSpecial(s string) bool {
	for i := range len(s) {
		if special[s[i]] {
			return true
		}
	}
	return false
}

// special is the set of bytes that copyPlain must not copy.
var special = func() (t [256]bool) {
	for c := range t {
		t[c] = c < ' ' || c >= utf8.RuneSelf
	}
	for _, c := range `&<>"'` {
		t[c] = true
	}
	return t
}()

var escapes = [256]string{
	'&': "&amp;", '<': "&lt;", '>': "&gt;", '"': "&quot;", '\'': "&apos;", '\t': "&#9;", '\n': "&#10;", '\r': "&#13;",
}

// appendEscaped is appendText for text that may need escaping.
func appendEscaped(b []byte, s string) []byte {
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if !special[c] {
			i++
			continue
		}
		escaped, size := escapes[c], 1
		if escaped == "" {
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			if c >= utf8.RuneSelf && r != 0xFFFE && r != 0xFFFF && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
			escaped = "\uFFFD"
		}
		b = append(b, s[done:i]...)
		b = append(b, escaped...)
		i += size
		done = i
	}
	return append(b, s[done:]...)
}

// The first and last second that a datetime can express, in Unix time.
const (
	minTime = -62_167_219_200 // 0000-01-01T00:00:00Z
	maxTime = 253_402_300_799 // 9999-12-31T23:59:59Z
)

// isTime reports whether a datetime can express t.
func isTime(t time.Time) bool {
	s := t.Unix()
	return minTime <= s && s <= maxTime
}

// appendTime appends t as a W3C Datetime in UTC, the form that section 7 recommends,
// with as many fractional digits as it needs.
func appendTime(b []byte, t time.Time) []byte {
	if !isTime(t) {
		t = time.Unix(min(max(t.Unix(), minTime), maxTime), 0)
	}
	return t.UTC().AppendFormat(b, time.RFC3339Nano)
}

// appendMicroTime appends t with six fractional digits, or with nine if it is not a
// whole number of microseconds.
func appendMicroTime(b []byte, t time.Time) []byte {
	const seconds, micros, nanos = len("2006-01-02T15:04:05"), len(".000000"), len(".000000000")
	start := len(b)
	b = appendTime(b, t)
	b = b[:len(b)-len("Z")]
	fraction := len(b) - start - seconds
	if fraction == 0 {
		b = append(b, '.')
		fraction++
	}
	width := micros
	if fraction > micros {
		width = nanos
	}
	for ; fraction < width; fraction++ {
		b = append(b, '0')
	}
	return append(b, 'Z')
}

// parseDatetime parses a W3C Datetime of any precision. Without its last parts, it is the
// beginning of the year, month, day or minute. It refuses the zero time.Time, which would
// mean "not stated", and times whose year in UTC does not have four digits.
func parseDatetime(s string) (t time.Time, ok bool) {
	if t, ok = parseSeconds(s); ok {
		return t, true
	}
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

// parseSeconds parses the form of most datetimes, YYYY-MM-DDThh:mm:ssZ. It leaves what is invalid or
// at the end of a month to parseDatetime.
func parseSeconds(s string) (time.Time, bool) {
	if len(s) != len("YYYY-MM-DDThh:mm:ssZ") || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' || s[19] != 'Z' {
		return time.Time{}, false
	}
	century, year, month, day := twoDigits(s[0:2]), twoDigits(s[2:4]), twoDigits(s[5:7]), twoDigits(s[8:10])
	hour, minute, second := twoDigits(s[11:13]), twoDigits(s[14:16]), twoDigits(s[17:19])
	if century == 0 || century > 99 || year > 99 || month-1 >= 12 || day-1 >= 28 || hour >= 24 || minute >= 60 || second >= 60 {
		return time.Time{}, false
	}
	return time.Date(int(century*100+year), time.Month(month), int(day), int(hour), int(minute), int(second), 0, time.UTC), true
}

// twoDigits returns the value of two digits, or a number above 99.
func twoDigits(s string) uint {
	tens, ones := uint(s[0]-'0'), uint(s[1]-'0')
	if tens > 9 || ones > 9 {
		return 1000
	}
	return 10*tens + ones
}

// similarDatetime parses a datetime of a similar format: with a space or a lower-case t
// before the time, with a comma before the fraction, with an offset without a colon, or
// without an offset, which means UTC. If it cannot, it returns the zero time.
func similarDatetime(s string) time.Time {
	if len(s) > len("YYYY-MM-DDThh:mm:ss.nnnnnnnnn +hhmm") {
		return time.Time{}
	}
	s = strings.Replace(strings.ToUpper(s), ",", ".", 1)
	for _, layout := range []string{
		"2006-1-2T15:04:05Z07:00", "2006-1-2T15:04:05Z0700", "2006-1-2T15:04:05", "2006-1-2T15:04",
		"2006-1-2 15:04:05Z07:00", "2006-1-2 15:04:05Z0700", "2006-1-2 15:04:05", "2006-1-2 15:04",
		"2006-1-2 15:04:05 Z0700", "2006-1-2 15:04:05 UTC", "2006-1-2", "20060102", "20060102T150405Z07",
	} {
		if t, err := time.Parse(layout, s); err == nil && t.Unix() >= minTime && t.Unix() <= maxTime {
			return t.UTC()
		}
	}
	return time.Time{}
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
