package sqltable

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// Ranges of keys may come from the URL of a request and have any bytes. PostgreSQL and
// MariaDB refuse bytes that are not text.

// textAtLeast returns the least text, in the order of bytes, that is not less than s.
// Text is UTF-8 without NUL.
func textAtLeast(s string) (_ string, some bool) {
	valid := 0
	for valid < len(s) {
		r, size := utf8.DecodeRuneInString(s[valid:])
		if r == 0 || r == utf8.RuneError && size == 1 {
			break
		}
		valid += size
	}
	prefix, rest := s[:valid], s[valid:]
	if rest == "" {
		return s, true
	}
	// rest does not begin with a rune, so the first rune after the prefix decides.
	if r := firstRune(func(r rune) bool { return string(r) >= rest }); r <= utf8.MaxRune {
		return prefix + string(r), true
	}
	return textAfter(prefix)
}

// textAfter returns the least text that is greater than every text that begins
// with prefix.
func textAfter(prefix string) (_ string, some bool) {
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = strings.Clone(prefix[:len(prefix)-size])
		if last < utf8.MaxRune {
			return prefix + string(firstRune(func(r rune) bool { return r > last })), true
		}
	}
	return "", false
}

// The code points from firstSurrogate to lastSurrogate are not characters.
const (
	firstSurrogate = 0xd800
	lastSurrogate  = 0xdfff
)

// firstRune returns the first rune for which found is true, or a value after the last
// rune. If found is true for a rune, it must be true for all later ones.
func firstRune(found func(rune) bool) rune {
	nth := func(i int) rune {
		r := rune(i + 1)
		if r >= firstSurrogate {
			r += lastSurrogate - firstSurrogate + 1
		}
		return r
	}
	n := int(utf8.MaxRune) - (lastSurrogate - firstSurrogate + 1)
	return nth(sort.Search(n, func(i int) bool { return found(nth(i)) }))
}
