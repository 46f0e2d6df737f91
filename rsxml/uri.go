package rsxml

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// CheckURI reports why uri cannot be the <loc> of an entry (section 7, and the Sitemap
// protocol). It must be absolute and have at most MaxURI characters, all of them allowed
// by RFC 3986. If its scheme is http or https, it must have a host, and no port that is not
// a number. The error names a remedy. CheckURI allocates only if there is an error.
func CheckURI(uri string) error {
	if len(uri) > MaxURI {
		return fmt.Errorf("rsxml: URI %s has %d characters: a <loc> has at most %d, publish a shorter one", quote(uri), len(uri), MaxURI)
	}
	if err := checkURI(uri); err != nil {
		return fmt.Errorf("rsxml: URI %s %w", quote(uri), err)
	}
	return nil
}

// checkURI is CheckURI for a URI of any length. Its errors continue a sentence that
// begins with "the URI".
func checkURI(uri string) error {
	colon := strings.IndexByte(uri, ':')
	if colon < 0 || !isScheme(uri[:colon]) {
		return errors.New("is not absolute: resolve it against the base URI of the Source")
	}
	for i := range len(uri) {
		if uriChars[uri[i]] {
			continue
		}
		if uri[i] == '%' {
			if i+2 >= len(uri) || !isHex(uri[i+1]) || !isHex(uri[i+2]) {
				return fmt.Errorf("has a %% at byte %d without two hexadecimal digits: write it as %%25", i)
			}
			continue
		}
		_, size := utf8.DecodeRuneInString(uri[i:])
		r := uri[i : i+size]
		return fmt.Errorf("has %q at byte %d: write it as %s", r, i, url.PathEscape(r))
	}
	if s := uri[:colon]; strings.EqualFold(s, "http") || strings.EqualFold(s, "https") {
		host, port := hostPort(uri[colon+1:])
		if host == "" {
			return errors.New("has no host: write it as in https://example.org/path")
		}
		for i := range len(port) {
			if !isDigit(port[i]) {
				return fmt.Errorf("has the invalid port %q: write a number, or leave it out", port)
			}
		}
	}
	return nil
}

// hostPort returns the host and the port of rest, the URI after the colon of its scheme.
func hostPort(rest string) (host, port string) {
	authority, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return "", ""
	}
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	host = authority[strings.LastIndexByte(authority, '@')+1:]
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host, port = host[:i], host[i+1:]
	}
	return host, port
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !isLetter(c) && (i == 0 || !isDigit(c) && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return s != ""
}

// uriChars is the set of reserved and unreserved characters of RFC 3986.
var uriChars = alphanumericOr("-._~:/?#[]@!$&'()*+,;=")

// alphanumericOr returns the set of the letters, the digits and others.
func alphanumericOr(others string) (t [256]bool) {
	for c := range t {
		t[c] = isLetter(byte(c)) || isDigit(byte(c)) || strings.IndexByte(others, byte(c)) >= 0
	}
	return t
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// quote quotes the beginning of a string that may be long or hostile.
func quote(s string) string {
	const most = 100
	if len(s) > most {
		return fmt.Sprintf("%.*q…", most, s)
	}
	return fmt.Sprintf("%q", s)
}
