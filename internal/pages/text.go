package pages

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

// Size returns about the number of bytes of c in a page.
func Size(c *webpage.Cell) int {
	n := escaped(c.URL) + escaped(c.Text) + len(`<td class="number wide"><a href="" rel="nofollow"></a></td>`)
	if !c.At.IsZero() {
		n += len(`<time datetime="2006-01-02T15:04:05.999999999Z">22 Nov 2026, 12:00:00 UTC</time>`)
	}
	return n
}

// escaped returns the number of bytes of s in a page.
func escaped(s string) int {
	n := len(s)
	for i := range len(s) {
		switch s[i] {
		case '&', '<', '>', '"', '\'':
			n += len("&#34;") - 1
		}
	}
	return n
}

// Text returns the form in which a page shows a URI: without its origin, decoded where that makes
// words readable, and shortened if it is long.
func Text(uri, origin string) string {
	text := uri
	if rest, ok := strings.CutPrefix(uri, origin); ok && origin != "" && strings.HasPrefix(rest, "/") {
		text = rest
	}
	if decoded, err := url.PathUnescape(text); err == nil && utf8.ValidString(decoded) && !strings.ContainsFunc(decoded, func(r rune) bool { return !unicode.IsPrint(r) }) {
		text = decoded
	}
	return Short(text, 160)
}

// Short returns s with at most max runes, the middle replaced by an ellipsis.
func Short(s string, max int) string {
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	runes := []rune(s)
	return string(runes[:max-max/3-1]) + "…" + string(runes[len(runes)-max/3:])
}

// beginning returns at most max runes of s, up to the end of a word.
func beginning(s string, max int) string {
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	s = string([]rune(s)[:max])
	if i := strings.LastIndexFunc(s, unicode.IsSpace); i > 0 {
		s = s[:i]
	}
	return s + " …"
}
