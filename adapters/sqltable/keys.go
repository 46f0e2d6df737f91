package sqltable

import (
	"encoding/hex"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A key is the key column.
type key engine.Key

// A bound is one end of a range of keys. Without an operator, the range has no such
// end.
type bound struct {
	operator string
	value    any
}

// bounds are a range of values of the key column.
type bounds struct {
	from, to bound
	none     bool // no value is within them
}

// after makes b begin after value.
func (b *bounds) after(value any) { b.from = bound{">", value} }

// bounds returns the values whose keys are in r.
func (k *key) bounds(r resourcesync.Range) (b bounds) {
	switch k.Kind {
	case engine.Text, engine.Binary:
		b.after(k.argument("")) // an empty key is none
		if r.From != "" {
			from, some := k.atLeast(r.From)
			b.from, b.none = bound{">=", from}, !some
		}
		if r.To != "" {
			if to, some := k.atLeast(r.To); some {
				b.to = bound{"<", to}
			}
		}
	default:
		if last, some := k.lastBefore(r.From); some {
			b.after(last)
		}
		if r.To != "" {
			last, some := k.lastBefore(r.To)
			b.to, b.none = bound{"<=", last}, !some
		}
	}
	return b
}

// atLeast returns the least value whose key is not less than s. It is for keys that are
// the bytes of their values.
func (k *key) atLeast(s string) (_ any, some bool) {
	if k.Kind == engine.Text && !k.NUL {
		s, some = textAtLeast(s)
		return s, some
	}
	return k.argument(s), true
}

// lastBefore returns the greatest value whose key is less than s. It is for keys of a
// fixed form. It finds the value bit by bit, from the highest, so it need not parse s,
// which may be anything.
func (k *key) lastBefore(s string) (_ any, some bool) {
	var buf [36]byte
	if k.Kind == engine.Integer {
		var u uint64
		below := func(u uint64) bool { return string(appendInteger(buf[:0], int64(u^1<<63))) < s }
		for bit := uint64(1) << 63; bit > 0; bit >>= 1 {
			if below(u | bit) {
				u |= bit
			}
		}
		return int64(u ^ 1<<63), below(u)
	}
	var u [16]byte
	for i := range 128 {
		u[i/8] |= 0x80 >> (i % 8)
		if string(appendUUID(buf[:0], u[:])) >= s {
			u[i/8] &^= 0x80 >> (i % 8)
		}
	}
	last := string(appendUUID(nil, u[:]))
	return last, last < s
}

// argument returns the value whose key is s, as an argument of a statement. s must be a
// key of k.
func (k *key) argument(s string) any {
	switch k.Kind {
	case engine.Binary:
		return []byte(s)
	case engine.Integer:
		n, _ := parseInteger(s)
		return n
	}
	return s
}

// A keyError means that no document can have the key of a row.
type keyError struct{ text string }

func (e *keyError) Error() string { return e.text }

// appendKey appends the key in a column of row. With a keyError, it has appended what the
// key begins with, or for an integer nothing.
func (k *key) appendKey(dst []byte, row rowdb.Row, column int) ([]byte, error) {
	if row.Null(column) {
		return dst, fmt.Errorf("a key is NULL")
	}
	n := len(dst)
	switch k.Kind {
	case engine.Integer:
		n, ok := integer(row, field{&k.Column, column})
		if !ok {
			return dst, &keyError{fmt.Sprintf("key %s is larger than %d", rowdb.String(row, column), int64(math.MaxInt64))}
		}
		return appendInteger(dst, n), nil
	case engine.UUID:
		var buf [16]byte
		return appendUUID(dst, row.Append(buf[:0], column)), nil
	}
	dst = row.Append(dst, column)
	if n := len(dst) - n; n > resourcesync.MaxKeyLength {
		return dst, &keyError{fmt.Sprintf("key %.50q… has %d bytes, of at most %d", dst[len(dst)-n:], n, resourcesync.MaxKeyLength)}
	}
	return dst, nil
}

// appendInteger appends the key of an integer: its digits, with leading zeros. A
// negative integer is written as its distance to the least, so that keys sort as the
// numbers do: the minus sign sorts before the digits.
func appendInteger(dst []byte, n int64) []byte {
	if n < 0 {
		dst = append(dst, '-')
		n -= math.MinInt64
	}
	start := len(dst)
	dst = append(dst, "0000000000000000000"...)
	for i := start + engine.Digits - 1; n > 0; i-- {
		dst[i] += byte(n % 10)
		n /= 10
	}
	return dst
}

// parseInteger is the inverse of appendInteger.
func parseInteger(s string) (n int64, ok bool) {
	negative := s != "" && s[0] == '-'
	if negative {
		s = s[1:]
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if negative {
		n += math.MinInt64
	}
	return n, err == nil && len(s) == engine.Digits
}

// appendUUID appends the text form of the 16 bytes of a UUID.
func appendUUID(dst, id []byte) []byte {
	for i, c := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, []byte{c})
	}
	return dst
}

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

// firstRune returns the first rune for which found is true, or a value after the last
// rune. If found is true for a rune, it must be true for all later ones.
func firstRune(found func(rune) bool) rune {
	nth := func(i int) rune {
		if r := rune(i + 1); !utf16.IsSurrogate(r) {
			return r
		}
		return 0xe000 // the first after the surrogates, which are not characters
	}
	return nth(sort.Search(utf8.MaxRune, func(i int) bool { return found(nth(i)) }))
}
