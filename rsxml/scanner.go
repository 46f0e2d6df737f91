package rsxml

import (
	"strings"

	"github.com/resourcesync-go/resourcesync"
)

// attrIndex returns the index of an attribute in attrNames, or -1.
func attrIndex(name string) int {
	for i := range attrNames {
		if name == attrNames[i] {
			return i
		}
	}
	return -1
}

// A scanner reads the remainder of an entry.
type scanner struct{ rest string }

// cut skips prefix, and reports whether it was there.
func (s *scanner) cut(prefix string) bool {
	rest, ok := strings.CutPrefix(s.rest, prefix)
	s.rest = rest
	return ok
}

func (s *scanner) space() {
	for len(s.rest) > 0 && isSpace(s.rest[0]) {
		s.rest = s.rest[1:]
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// startTag skips the beginning of a start tag up to its name, which it returns if an entry can
// have such a child.
func (s *scanner) startTag() string {
	for _, name := range [...]string{"rs:md", "loc", "lastmod", "rs:ln", "changefreq", "priority"} {
		if len(s.rest) > len(name) && s.rest[0] == '<' && s.rest[1:1+len(name)] == name {
			s.rest = s.rest[1+len(name):]
			return name
		}
	}
	return ""
}

// text returns the text of an element without attributes, whose name has been read.
func (s *scanner) text(name string) (string, bool) {
	if !s.cut(">") {
		return "", false
	}
	n := strings.IndexByte(s.rest, '<')
	if n < 0 {
		return "", false
	}
	raw := trim(s.rest[:n])
	s.rest = s.rest[n:]
	text, ok := plainText(raw)
	return text, ok && s.cut("</") && s.cut(name) && s.cut(">")
}

// attribute returns the next attribute and its value as written. At the end of the start
// tag, more is false, and also in front of anything else.
func (s *scanner) attribute() (name, raw string, more bool) {
	before := len(s.rest)
	s.space()
	equals := strings.IndexByte(s.rest, '=')
	if len(s.rest) == before || equals <= 0 || equals+1 == len(s.rest) {
		return "", "", false
	}
	quote := s.rest[equals+1]
	end := strings.IndexByte(s.rest[equals+2:], quote)
	if quote != '"' && quote != '\'' || end < 0 || s.rest[0] == '/' {
		return "", "", false
	}
	name, raw = s.rest[:equals], s.rest[equals+2:][:end]
	s.rest = s.rest[equals+2+end+1:]
	return name, raw, true
}

// plainText returns a text or value, if it is printable ASCII and has no references except those
// to the five entities of XML.
func plainText(raw string) (string, bool) {
	escaped := false
	for i := 0; i < len(raw); i++ {
		// Most texts have no special characters, so eight are looked at together.
		for i <= len(raw)-8 && isPlain(word(raw[i:i+8])) {
			i += 8
		}
		if i == len(raw) {
			break
		}
		c := raw[i]
		if c < ' ' || c > '~' || c == '<' || c == '>' {
			return "", false
		}
		escaped = escaped || c == '&'
	}
	if !escaped {
		return raw, true
	}
	var b strings.Builder
	for text := raw; ; {
		before, after, found := strings.Cut(text, "&")
		b.WriteString(before)
		if !found {
			return b.String(), true
		}
		name, rest, ended := strings.Cut(after, ";")
		c := entities[name]
		if !ended || c == 0 {
			return "", false
		}
		b.WriteByte(c)
		text = rest
	}
}

// isPlain reports whether no byte of w is special in plainText. The highest bit of a byte of ASCII
// is set by adding one only if it is DEL.
func isPlain(w uint64) bool { return !suspicious(w) && (w+ones)&highs == 0 }

// appendPlainHashes is resourcesync.AppendHashes for printable ASCII, in which the only white space
// is the space.
func appendPlainHashes(dst []resourcesync.Hash, s string) (_ []resourcesync.Hash, ok bool) {
	for s != "" {
		var field string
		if field, s, _ = strings.Cut(s, " "); field == "" {
			continue
		}
		algorithm, digest, _ := strings.Cut(field, ":")
		if algorithm == "" || digest == "" {
			return dst, false
		}
		dst = append(dst, resourcesync.Hash{Algorithm: algorithm, Digest: digest})
	}
	return dst, true
}

var entities = map[string]byte{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\''}
