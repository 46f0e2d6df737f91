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

// The limits, in bytes, of the results of [Name].
const (
	// MaxName keeps the paths of an archive that is unpacked near the root of a
	// drive within the 260 characters that Windows allows.
	MaxName = 240

	// MaxSegment limits each folder or file name. File systems allow slightly
	// more, which tools use for their own suffixes.
	MaxSegment = 200
)

// Name returns the name, in folder, of the entry for the resource at uri: a readable
// path that is safe on every file system and that no other URI has. A manifest states
// it with a leading slash. It depends on folder and uri alone, so that a new resource
// renames no other.
//
// The name of a simple URI is the URI:
//
//	https://example.org/papers/1.pdf  resources/https/example.org/papers/1.pdf
//
// A URI is simple if it has only a scheme of http or https, a host, and a path that ends
// in a file extension, and consists of lower-case ASCII letters, digits, "_", "-" and
// ".". The name of any other URI is as similar as possible, and the file name, before its
// extension, has "~" and twenty-six characters of the URI's SHA-256 digest in base32:
//
//	https://example.org/caf%C3%A9     resources/https/example.org/café~c5zk23of3liowozbqzzzo4djbm
//
// Percent-encoding is decoded if the result is UTF-8. A run of characters other than
// letters, combining marks, decimal digits, "_", "-" and "." becomes "_", and so do a "."
// or "-" at the beginning of a segment and a "." at its end. A segment that is the name
// of a Windows device gets the prefix "_". In a folder with an extension, which looks
// like a file, "_" replaces the dot. Segments are cut at [MaxSegment]; a path longer than
// [MaxName] loses its innermost folders.
//
// The names of two URIs are never equal, and neither is a folder of the other, even where
// letter case and Unicode normalization make no difference. Every file name has an
// extension or a "~", and no folder below the folder of a host has either. A name without "~" is
// in lower-case ASCII and determines its URI. All others are distinguished by 128 bits of their
// digests.
//
// folder must be valid for io/fs.ValidPath and have at most 120 bytes.
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

// spell divides uri into the segments of a path and makes each of them safe. It returns
// the last segment in two parts.
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
			folders = append(folders, safe(s)) // no file can have this name
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

// spells reports whether path identifies uri without a digest.
func spells(path, uri string) bool {
	scheme, rest, _ := strings.Cut(uri, "://")
	return (scheme == "http" || scheme == "https") && path == scheme+"/"+rest &&
		!strings.ContainsFunc(path, func(r rune) bool { return r > unicode.MaxASCII || unicode.IsUpper(r) })
}

// safe returns a safe file name for a segment of a URI.
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
	if base, _, _ := strings.Cut(strings.ToLower(s), "."); slices.Contains(devices, base) {
		s = "_" + s
	}
	return s
}

// safeFolder is like safe, for a folder: the result never has an extension and so cannot
// be the name of a file.
func safeFolder(segment string) string {
	s := safe(segment)
	if dot := extensionAt(s); dot < len(s) {
		s = s[:dot] + "_" + s[dot+1:]
	}
	return s
}

// extensionAt returns the index in s of the dot of a file extension, or len(s). An
// extension is a letter and up to eleven more letters and digits.
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

// devices are the names of Windows devices. A file with such a name is a device with any extension.
var devices = strings.Fields("con prn aux nul com0 com1 com2 com3 com4 com5 com6 com7 com8 com9 " +
	"lpt0 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9")

// cut returns the longest prefix of s with complete characters and at most n bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
