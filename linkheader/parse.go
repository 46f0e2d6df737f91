package linkheader

import "strings"

// The limits of [Parse]. It ignores everything beyond them.
const (
	MaxBytes = 256 << 10 // bytes of all values together; a value that exceeds the rest is ignored as a whole
	MaxLinks = 1_000     // links
)

// Parse returns the links in the values of a Link header field, in order:
//
//	links := linkheader.Parse(resp.Header.Values("Link")...)
//
// It is slightly more lenient than RFC 8288 (appendix B): it never fails, and skips
// malformed text up to the next comma. It drops link-values without a relation type,
// and ignores all parameters except the first rel and the first anchor.
//
// Parse does not resolve targets; see [net/url.URL.Parse]. Its cost is linear in the
// length of values and bounded by [MaxBytes].
func Parse(values ...string) []Link {
	var links []Link
	left := MaxBytes
	for _, s := range values {
		if left -= len(s); left < 0 {
			break
		}
		for len(links) < MaxLinks {
			s = strings.TrimLeft(s, space+",")
			if s == "" {
				break
			}
			var l Link
			if s[0] == '<' {
				l, s = cutLink(s[1:])
			}
			s = afterComma(s)
			if l.Rel != "" {
				links = append(links, l)
			}
		}
	}
	return links
}

// cutLink reads the link-value at the start of s, after its <, and returns the text
// after it. A target without > has no end, so rest is empty.
func cutLink(s string) (l Link, rest string) {
	target, rest, ok := strings.Cut(s, ">")
	if !ok {
		return Link{}, ""
	}
	l.Target = string(appendURI(nil, strings.Trim(target, space)))
	var hasRel, hasAnchor bool
	for {
		rest = strings.TrimLeft(rest, space)
		if !strings.HasPrefix(rest, ";") {
			break
		}
		var name, value string
		name, value, rest = cutParam(rest[1:])
		switch {
		case !hasRel && strings.EqualFold(name, "rel"):
			hasRel, l.Rel = true, string(appendRel(nil, value))
		case !hasAnchor && strings.EqualFold(name, "anchor"):
			hasAnchor, l.Anchor = true, string(appendURI(nil, strings.Trim(value, space)))
		}
	}
	return l, rest
}

// cutParam reads the parameter at the start of s, after its semicolon, and returns
// the text after it.
func cutParam(s string) (name, value, rest string) {
	s = strings.TrimLeft(s, space)
	end := indexAny(s, space+"=;,")
	name, rest = s[:end], strings.TrimLeft(s[end:], space)
	if !strings.HasPrefix(rest, "=") {
		return name, "", rest
	}
	rest = strings.TrimLeft(rest[1:], space)
	if strings.HasPrefix(rest, `"`) {
		value, rest = cutQuoted(rest[1:])
		return name, value, rest
	}
	end = indexAny(rest, ";,")
	return name, strings.TrimRight(rest[:end], space), rest[end:]
}

// cutQuoted reads the rest of a quoted string, after its opening quotation mark, and
// returns the text after the closing one. Without a closing mark the string extends
// to the end of s.
func cutQuoted(s string) (value, rest string) {
	end := indexAny(s, `"\`)
	if end == len(s) {
		return s, ""
	}
	if s[end] == '"' {
		return s[:end], s[end+1:]
	}
	b := []byte(s[:end])
	for i := end; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return string(b), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
			b = append(b, s[i])
		case s[i] != '\\':
			b = append(b, s[i])
		}
	}
	return string(b), ""
}

// afterComma returns the text after the first comma in s outside of a quoted string.
func afterComma(s string) string {
	for s != "" {
		end := indexAny(s, `",`)
		if end == len(s) {
			break
		}
		c := s[end]
		s = s[end+1:]
		if c == ',' {
			return s
		}
		_, s = cutQuoted(s)
	}
	return ""
}

// indexAny is like strings.IndexAny, but returns len(s) instead of -1.
func indexAny(s, chars string) int {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return i
	}
	return len(s)
}
