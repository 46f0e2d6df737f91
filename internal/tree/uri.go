package tree

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Resolve returns the absolute URI of a loc or href in the document at base, and whether it
// can be requested. A valid absolute URI stays unchanged. If base is nil, others are not
// resolved.
func Resolve(base *url.URL, ref string) (string, bool) { return resolve(base, ref, isHTTP) }

// resolve is like Resolve, for URIs that are valid.
func resolve(base *url.URL, ref string, valid func(uri string) bool) (string, bool) {
	if rsxml.CheckURI(ref) == nil {
		return ref, valid(ref)
	}
	if base == nil {
		return "", false
	}
	u, err := base.Parse(escape(ref))
	if err != nil || u.Host == "" {
		return "", false
	}
	u.Fragment = ""
	return u.String(), valid(u.String())
}

// escape percent-encodes what a URI must not contain. A percent sign that begins no escape is
// taken literally, because some Sources write the names of files without escapes.
func escape(ref string) string {
	var b strings.Builder
	for i := range len(ref) {
		switch c := ref[i]; {
		case c == '%' && !isEscape(ref[i:]), c <= ' ', c >= 0x7f, strings.IndexByte("\"<>\\^`{|}", c) >= 0:
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// isEscape reports whether s begins with a percent sign and two hexadecimal digits.
func isEscape(s string) bool {
	return len(s) > 2 && isHex(s[1]) && isHex(s[2])
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

const (
	// Unreadable is how the names of entries begin that have no URI that can be requested. No
	// URI has a space.
	Unreadable = "unreadable URI: "

	// maxNameless is the maximum number of entries in a row without a URI that are named.
	maxNameless = 1000
)

// ErrUnreadable is the error of what cannot be requested, because a document does not say where
// it is.
var ErrUnreadable = errors.New("it cannot be requested, because it is not the URL of a resource; the Source must correct its document")

// unreadable returns the name of an entry with a loc that cannot be requested.
func unreadable(loc string) string {
	return Unreadable + fmt.Sprintf("%.*q", rsxml.MaxURI, loc)
}

// IsUnreadable reports whether the Loc of an entry is not a URI that can be requested. It is
// the name of the entry instead, which is the same whenever the document is read.
func IsUnreadable(loc string) bool { return strings.HasPrefix(loc, Unreadable) }

// isHTTP reports whether uri can be requested.
func isHTTP(uri string) bool {
	scheme, rest, _ := strings.Cut(uri, "://")
	if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return false
	}
	for i := range len(rest) {
		switch c := rest[i]; {
		case c == '/' || c == '?' || c == '#':
			return true
		case c != '.' && c != '-' && !isLetterOrDigit(c):
			_, err := url.Parse(uri) // a port, userinfo, an IPv6 address, or no valid host
			return err == nil
		}
	}
	return true
}

func isLetterOrDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
