package rsxml

import (
	"time"
	"unicode/utf8"
)

// appendText appends s as the text of an element or the value of an attribute
// in double quotes. It escapes the five characters that the Sitemap protocol
// names, and white space other than the space, which a parser would change in
// an attribute. What no XML document can hold becomes U+FFFD.
func appendText(b []byte, s string) []byte {
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if !special[c] {
			i++
			continue
		}
		var escaped string
		size := 1
		switch c {
		case '&':
			escaped = "&amp;"
		case '<':
			escaped = "&lt;"
		case '>':
			escaped = "&gt;"
		case '"':
			escaped = "&quot;"
		case '\'':
			escaped = "&apos;"
		case '\t':
			escaped = "&#9;"
		case '\n':
			escaped = "&#10;"
		case '\r':
			escaped = "&#13;"
		default:
			escaped = "\uFFFD"
			if c >= utf8.RuneSelf {
				var r rune
				r, size = utf8.DecodeRuneInString(s[i:])
				if r != 0xFFFE && r != 0xFFFF && (r != utf8.RuneError || size > 1) {
					i += size
					continue
				}
			}
		}
		b = append(b, s[done:i]...)
		b = append(b, escaped...)
		i += size
		done = i
	}
	return append(b, s[done:]...)
}

// special holds the bytes at which appendText must look closer.
var special = func() (t [256]bool) {
	for c := range t {
		t[c] = c < ' ' || c >= utf8.RuneSelf
	}
	for _, c := range `&<>"'` {
		t[c] = true
	}
	return t
}()

// The first and the last second that a datetime can express, in Unix time.
const (
	minTime = -62_167_219_200 // 0000-01-01T00:00:00Z
	maxTime = 253_402_300_799 // 9999-12-31T23:59:59Z
)

// appendTime appends t as a W3C Datetime in UTC with as many digits of the
// second as it needs, the form that section 7 recommends.
func appendTime(b []byte, t time.Time) []byte {
	if s := t.Unix(); s < minTime || s > maxTime {
		t = time.Unix(min(max(s, minTime), maxTime), 0)
	}
	return t.UTC().AppendFormat(b, time.RFC3339Nano)
}
