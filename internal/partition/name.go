package partition

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// The name of a range is its two ends in unpadded base64url, joined by '~'. The second
// end omits the bytes that it shares with the first, and begins with their number and a
// '.', because neighbouring ends have much in common. Even two keys of the greatest
// length that share nothing give a URL below 2,048 characters. A missing end is empty.

var base64url = base64.RawURLEncoding.Strict()

// FormatRange returns the name of r.
func FormatRange(r resourcesync.Range) string {
	var b strings.Builder
	b.WriteString(base64url.EncodeToString([]byte(r.From)))
	b.WriteByte('~')
	n := commonPrefix(r.From, r.To)
	if n > 0 {
		b.WriteString(strconv.Itoa(n))
		b.WriteByte('.')
	}
	b.WriteString(base64url.EncodeToString([]byte(r.To[n:])))
	return b.String()
}

// ParseRange is the inverse of [FormatRange]. It accepts no other spelling, so that a
// page has one URL.
func ParseRange(s string) (r resourcesync.Range, ok bool) {
	from, to, found := strings.Cut(s, "~")
	if !found || len(s) > 4*resourcesync.MaxKeyLength {
		return r, false
	}
	first, err := base64url.DecodeString(from)
	if err != nil {
		return r, false
	}
	shared := 0
	if digits, rest, found := strings.Cut(to, "."); found {
		if shared, err = strconv.Atoi(digits); err != nil || shared < 0 || shared > len(first) {
			return r, false
		}
		to = rest
	}
	second, err := base64url.DecodeString(to)
	if err != nil {
		return r, false
	}
	r = resourcesync.Range{From: string(first), To: string(first[:shared]) + string(second)}
	return r, (r.To == "" || r.From < r.To) && FormatRange(r) == s
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// timeLayout is the layout of times in names. All names have the same length, so that
// they sort by time: some Destinations read the parts of an index in the order of their
// URIs.
const timeLayout = "20060102T150405.000000000Z"

// FormatTime returns the name of an interval that begins at t. The end is not part of the
// name, because an open list keeps its URL when it is closed.
func FormatTime(t time.Time) string { return t.UTC().Format(timeLayout) }

// ParseTime is the inverse of [FormatTime].
func ParseTime(name string) (time.Time, error) { return time.Parse(timeLayout, name) }

// Find returns the index of the interval that begins at from.
func Find(intervals []resourcesync.Interval, from time.Time) (i int, found bool) {
	return slices.BinarySearchFunc(intervals, from, func(iv resourcesync.Interval, t time.Time) int { return iv.From.Compare(t) })
}
