package wellknown

import (
	"bytes"
	"strings"
)

// AppendRobots appends existing, the text of a robots.txt, to b, and then a Sitemap
// directive for each of sitemaps that existing lacks (section 6.3.4). existing may be
// empty. sitemaps are the URIs of Resource Lists or of other sitemaps.
//
// AppendRobots does not change existing, but terminates its last line if it adds
// another. Added lines end like the first line of existing, in CR LF or in LF.
//
// A directive in existing counts if its value equals the URI byte for byte; the word
// Sitemap may be in any case. Merging again therefore changes nothing. To keep a URI
// from adding other lines, AppendRobots drops its fragment, which would be a comment
// in robots.txt, and percent-encodes spaces, control characters and bytes beyond
// ASCII.
func AppendRobots(b, existing []byte, sitemaps []string) []byte {
	b = append(b, existing...)
	listed := sitemapsOf(existing)
	newline := lineEnd(existing)
	ended := len(existing) == 0 || bytes.ContainsAny(existing[len(existing)-1:], "\r\n")
	for _, uri := range sitemaps {
		uri = fieldValue(uri)
		if uri == "" || listed[uri] {
			continue
		}
		listed[uri] = true
		if !ended {
			b = append(b, newline...)
			ended = true
		}
		b = append(b, "Sitemap: "...)
		b = append(b, uri...)
		b = append(b, newline...)
	}
	return b
}

const (
	byteOrderMark = "\uFEFF"
	blank         = " \t"
)

// sitemapsOf returns the values of the Sitemap directives in text. Lines end in
// CR, LF or both, and a # begins a comment (RFC 9309, section 2.2).
func sitemapsOf(text []byte) map[string]bool {
	listed := make(map[string]bool)
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	for line := range bytes.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		line, _, _ = bytes.Cut(line, []byte("#"))
		name, value, _ := bytes.Cut(line, []byte(":"))
		if bytes.EqualFold(bytes.Trim(name, blank), []byte("sitemap")) {
			listed[string(bytes.Trim(value, blank))] = true
		}
	}
	return listed
}

// lineEnd returns the line terminator of the first line of text.
func lineEnd(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// fieldValue returns uri as the value of a directive.
func fieldValue(uri string) string {
	uri, _, _ = strings.Cut(uri, "#")
	const hex = "0123456789ABCDEF"
	var b []byte
	for i := range len(uri) {
		if c := uri[i]; ' ' < c && c < 0x7F {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}
