package rshttp

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/resourcesync-go/resourcesync"
)

// A page's range of keys is a segment of its path: its two ends in unpadded
// base64url, joined by '~'. Of the second end only what differs from the first
// is written, after the number of bytes that they share and a '.', because ends
// that are close to each other have much in common. Even two of the longest keys
// that share nothing give a URL below 2,048 characters. An end that is not there is empty.

var base64url = base64.RawURLEncoding.Strict()

func formatRange(r resourcesync.Range) string {
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

// parseRange is the inverse of formatRange. It takes no other spelling of a
// range than formatRange's, so that a page has one URL.
func parseRange(s string) (r resourcesync.Range, ok bool) {
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
	return r, (r.To == "" || r.From < r.To) && formatRange(r) == s
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
