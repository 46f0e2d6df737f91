// Package localname names the copies of resources: relative paths that mean the same on
// every file system, however hostile the URI.
package localname

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const (
	// maxSegment is the maximum length of a name in bytes. File systems allow 255, and
	// temporary names are longer.
	maxSegment = 200

	// maxPath is the maximum length of a path in bytes: the limit for a resourcesync.Resource key.
	maxPath = 720

	// Index is the name of the copy of a URI that ends with a slash.
	Index = "index.html"

	// State is the name of the folder at the top that contains no copies.
	State = ".resourcesync"

	// Other is the folder at the top for copies with derived names.
	Other = "~"
)

// Of returns the path of the copy of uri, with slashes. A resource of the host base, such
// as example.org:8080, keeps its path; the path of any other begins with its host. If no
// readable path is safe, Of returns Derived.
func Of(uri, base string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Opaque != "" {
		return Derived(uri)
	}
	escaped := strings.TrimPrefix(u.EscapedPath(), "/")
	if !strings.EqualFold(u.Host, base) {
		escaped = strings.ToLower(u.Host) + "/" + escaped
	}
	segments := strings.Split(escaped, "/")
	last := len(segments) - 1
	if segments[last] == "" {
		segments[last] = Index
	}
	for i, s := range segments {
		segments[i] = segment(s)
		if segments[i] == "" || len(segments[i]) > maxSegment {
			return Derived(uri)
		}
	}
	if u.RawQuery != "" || u.ForceQuery {
		segments[last] = safeEnd(segment(strings.Split(escaped, "/")[last]) + "%3F" + escape(u.RawQuery))
	}
	switch {
	case Fold(segments[0]) == State:
		_, size := utf8.DecodeRuneInString(segments[0])
		segments[0] = percent(segments[0][:size]) + segments[0][size:]
	case segments[0] == Other:
		segments[0] = "%7E"
	}
	name := strings.Join(segments, "/")
	if len(segments[last]) > maxSegment || len(name) > maxPath {
		return Derived(uri)
	}
	return name
}

// Derived returns a path that only uri has, with the extension of its name.
func Derived(uri string) string {
	sum := sha256.Sum256([]byte(uri))
	digest := hex.EncodeToString(sum[:])
	name := Other + "/" + digest[:2] + "/" + digest
	if u, err := url.Parse(uri); err == nil {
		if ext := path.Ext(u.Path); extension.MatchString(ext) {
			name += strings.ToLower(ext)
		}
	}
	return name
}

var extension = regexp.MustCompile(`^\.[A-Za-z0-9]{1,10}$`)

// Fold returns a string that is equal for names that some file system does not tell apart:
// they differ in case, or in the composition of characters.
func Fold(name string) string {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return norm.NFC.String(cases.Fold().String(norm.NFKC.String(name)))
		}
	}
	return strings.ToLower(name) // the same, and most names are ASCII
}

// segment returns a name for an escaped segment of a path. Segments that are empty, or only
// dots, get names that are not.
func segment(escaped string) string {
	text, err := url.PathUnescape(escaped)
	if err != nil || !utf8.ValidString(text) {
		text = escaped
	}
	name := escape(text)
	if strings.Trim(name, ".") == "" {
		return strings.ReplaceAll(name, ".", "%2E")
	}
	name = safeEnd(name)
	if reserved.MatchString(name) {
		return percent(name[:1]) + name[1:]
	}
	return name
}

// safeEnd escapes a dot or space at the end of a name, which Windows removes.
func safeEnd(name string) string {
	if last := len(name) - 1; last >= 0 && (name[last] == '.' || name[last] == ' ') {
		return name[:last] + percent(name[last:])
	}
	return name
}

var escaped = regexp.MustCompile(`^%[0-9A-Fa-f]{2}`)

// percent percent-encodes all bytes of s.
func percent(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
	}
	return b.String()
}

// reserved are the names of devices on Windows, with any extension.
var reserved = regexp.MustCompile(`(?i)^(con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³])[ ]*(\.|$)`)

// short matches the end of a short name, such as RESOUR~1. On Windows, it is another name of
// a file or folder with a longer name.
var short = regexp.MustCompile(`^~[0-9]+(\.|$)`)

// escape escapes the characters that some file system does not allow in names, a percent
// sign that looks like an escape, and a tilde that makes a short name.
func escape(text string) string {
	var b strings.Builder
	for i, r := range text {
		if !strings.ContainsRune("<>:\"/\\|?*", r) && !(r == '%' && escaped.MatchString(text[i:])) && !(r == '~' && short.MatchString(text[i:])) && r != utf8.RuneError && !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r) {
			b.WriteRune(r)
			continue
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		b.WriteString(percent(text[i : i+size]))
	}
	return b.String()
}
