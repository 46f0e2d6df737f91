package virtualzip

import (
	"crypto/sha256"
	"encoding/base32"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds, in bytes, of the names that [Name] makes.
const (
	// MaxName leaves a package that is unpacked near the root of a drive
	// within the 260 characters that Windows gives a path.
	MaxName = 240

	// MaxSegment bounds each folder or file name. File systems allow a
	// little more, which tools use for endings of their own.
	MaxSegment = 200
)

// Name returns a name in folder for the entry that holds the resource at uri: a
// path that people can read, that is harmless on every file system, and that no
// other URI has. A manifest states it with a slash before it. It depends on
// folder and uri alone, so that a new resource renames no other.
//
// A name spells its URI out:
//
//	https://example.org/papers/1.pdf  resources/https/example.org/papers/1.pdf
//
// That is all if the URI has only a scheme of http or https, a host and a path
// that ends in a file extension, and they can stand as they are: lower-case
// ASCII letters, digits, "_", "-" and ".". Any other URI is spelt as nearly as
// can be, and the file name, before its extension, gets "~" and twenty-six
// characters of the URI's SHA-256 digest in base32:
//
//	https://example.org/caf%C3%A9     resources/https/example.org/café~c5zk23of3liowozbqzzzo4djbm
//
// What is percent-encoded is decoded if that gives UTF-8. A run of other
// characters than letters, combining marks, decimal digits, "_", "-" and "."
// becomes "_", and so does a "." or "-" at the beginning of a segment and a "."
// at its end. A segment that is a device on Windows gets a "_" before it. A
// folder that looks like a file, having an extension, gets "_" for the dot.
// Segments are cut at [MaxSegment]; of a path longer than [MaxName] the innermost
// folders are left out.
//
// Two URIs have names of which neither is the other or a folder of it, even
// where letter case and Unicode normalisation make no difference: every file
// name has an extension or a "~", and no folder below that of a host has; a name
// without "~" is in lower-case ASCII and gives its URI back; and 128 bits of the
// digests tell the others apart, of which nobody finds two that are equal.
//
// folder is a path by the rules of io/fs.ValidPath, of at most 120 bytes.
func Name(folder, uri string) string {
	folders, stem, extension := spell(uri)
	path := strings.Join(append(folders, stem+extension), "/")
	if name := folder + "/" + path; extension != "" && spells(path, uri) && len(name) <= MaxName {
		return name
	}
	digest := sha256.Sum256([]byte(uri))
	ending := "~" + digestEncoding.EncodeToString(digest[:16]) + extension
	file := cut(stem, min(MaxSegment, MaxName-len(folder)-len("/"))-len(ending)) + ending
	for {
		path = strings.Join(append(folders, file), "/")
		if name := folder + "/" + path; len(name) <= MaxName || len(folders) == 0 {
			return name
		}
		folders = folders[:len(folders)-1]
	}
}

var digestEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// spell divides uri into the segments of a path and makes each of them safe. The
// last is returned in two parts.
func spell(uri string) (folders []string, stem, extension string) {
	scheme, rest, found := strings.Cut(uri, ":")
	if !found {
		scheme, rest = "", uri
	}
	query := ""
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest, query = rest[:i], rest[i+1:]
	}
	rest, hasHost := strings.CutPrefix(rest, "//")
	segments := strings.Split(rest, "/")
	if hasHost && len(segments) == 1 {
		segments = append(segments, "")
	}
	file := safe(segments[len(segments)-1])

	folders = append(folders, safeFolder(scheme))
	for i, s := range segments[:len(segments)-1] {
		if hasHost && i == 0 {
			folders = append(folders, safe(s)) // there are no files beside it
		} else {
			folders = append(folders, safeFolder(s))
		}
	}
	folders = slices.DeleteFunc(folders, func(s string) bool { return s == "" })

	dot := extensionAt(file)
	stem, extension = file[:dot], file[dot:]
	if query = safe(query); query != "" && stem != "" {
		query = "_" + query
	}
	if stem += query; stem == "" {
		stem = "index"
	}
	return folders, stem, extension
}

// spells reports whether path is what names without a digest are made of, and
// says all that uri does.
func spells(path, uri string) bool {
	scheme, rest, _ := strings.Cut(uri, "://")
	return (scheme == "http" || scheme == "https") && path == scheme+"/"+rest &&
		!strings.ContainsFunc(path, func(r rune) bool { return r > unicode.MaxASCII || unicode.IsUpper(r) })
}

// safe makes a segment of a path out of one of a URI.
func safe(segment string) string {
	if s, err := url.PathUnescape(segment); err == nil && utf8.ValidString(s) {
		segment = s
	}
	var b strings.Builder
	b.Grow(len(segment))
	replaced := false
	for _, r := range segment {
		ok := r == '_' || r == '-' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.In(r, unicode.Mn, unicode.Mc)
		switch {
		case ok:
			b.WriteRune(r)
		case !replaced:
			b.WriteByte('_')
		}
		replaced = !ok
	}
	s := b.String()
	dot := extensionAt(s)
	s = cut(s[:dot], MaxSegment-len("_")-len(s[dot:])) + s[dot:]
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "-") {
		s = "_" + s[1:]
	}
	if strings.HasSuffix(s, ".") {
		s = s[:len(s)-1] + "_"
	}
	if base, _, _ := strings.Cut(strings.ToLower(s), "."); isDevice(base) {
		s = "_" + s
	}
	return s
}

// safeFolder is safe for a folder that files may lie beside: it never looks
// like one of them.
func safeFolder(segment string) string {
	s := safe(segment)
	if dot := extensionAt(s); dot < len(s) {
		s = s[:dot] + "_" + s[dot+1:]
	}
	return s
}

// extensionAt returns the index in s of the dot with which a file extension
// begins, a letter and up to eleven more letters and digits, or len(s).
func extensionAt(s string) int {
	dot := strings.LastIndexByte(s, '.')
	if dot <= 0 {
		return len(s)
	}
	letters := []rune(s[dot+1:])
	if len(letters) == 0 || len(letters) > 12 || !unicode.IsLetter(letters[0]) {
		return len(s)
	}
	for _, r := range letters {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return len(s)
		}
	}
	return dot
}

// isDevice reports whether Windows takes a file of that name, whatever its
// extension, for a device. name is in lower case.
func isDevice(name string) bool {
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt") && '0' <= name[3] && name[3] <= '9'
}

// cut returns the longest beginning of s, in whole characters, of at most n
// bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
