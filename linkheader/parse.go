package linkheader

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// The limits of [Parse]. It ignores everything beyond them.
const (
	MaxBytes  = 256 << 10 // bytes of all values together; a value that exceeds the rest is ignored as a whole
	MaxLinks  = 1_000     // links
	MaxParams = 32        // Params of one link
)

const space = " \t\r\n"

// Parse returns the links in the values of a Link header field, in order:
//
//	links := linkheader.Parse(resp.Header.Values("Link")...)
//
// It is slightly more lenient than RFC 8288 (appendix B): it never fails, and skips
// malformed text up to the next comma. It drops link-values without a relation type
// and parameters whose name is not a token. Of repeated rel, anchor, media, title and
// type parameters it keeps the first. A parameter encoded by RFC 8187 replaces its
// plain form.
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
	l.Target = normalURI(strings.Trim(target, space))
	var rel, anchor, encoded bool // seen
	for {
		rest = strings.TrimLeft(rest, space)
		if !strings.HasPrefix(rest, ";") {
			break
		}
		var p Param
		p, rest = cutParam(rest[1:])
		switch {
		case p.Name == "rel":
			if !rel {
				rel, l.Rel = true, normalRel(p.Value)
			}
		case p.Name == "anchor":
			if !anchor {
				anchor, l.Anchor = true, normalURI(strings.Trim(p.Value, space))
			}
		case len(l.Params) < MaxParams:
			base, star := strings.CutSuffix(p.Name, "*")
			if star {
				p.Value, ok = decodeExtended(p.Value)
			}
			if star && !ok || !validName(base) || single(base) && contains(l.Params, p.Name) {
				continue
			}
			p.Value = cleanText(p.Value)
			l.Params = append(l.Params, p)
			encoded = encoded || star
		}
	}
	if encoded {
		l.Params = preferEncoded(l.Params)
	}
	return l, rest
}

// cutParam reads the parameter at the start of s, after its semicolon, and returns
// the text after it.
func cutParam(s string) (p Param, rest string) {
	s = strings.TrimLeft(s, space)
	end := indexAny(s, space+"=;,")
	p.Name, rest = strings.ToLower(s[:end]), strings.TrimLeft(s[end:], space)
	if !strings.HasPrefix(rest, "=") {
		return p, rest
	}
	rest = strings.TrimLeft(rest[1:], space)
	if strings.HasPrefix(rest, `"`) {
		p.Value, rest = cutQuoted(rest[1:])
		return p, rest
	}
	end = indexAny(rest, ";,")
	p.Value = strings.TrimRight(rest[:end], space)
	return p, rest[end:]
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

// decodeExtended decodes the form of RFC 8187, charset'language'value. It supports
// only UTF-8, the one mandatory charset.
func decodeExtended(s string) (_ string, ok bool) {
	charset, s, _ := strings.Cut(s, "'")
	_, s, found := strings.Cut(s, "'")
	if !found || !strings.EqualFold(charset, "UTF-8") {
		return "", false
	}
	s, err := url.PathUnescape(s)
	return s, err == nil && utf8.ValidString(s)
}

// preferEncoded drops parameters that also have an encoded form, and gives the
// encoded form the plain name (RFC 8288, appendix B.2, step 16).
func preferEncoded(params []Param) []Param {
	kept := make([]Param, 0, len(params))
	for _, p := range params {
		if !contains(params, p.Name+"*") {
			p.Name = strings.TrimSuffix(p.Name, "*")
			kept = append(kept, p)
		}
	}
	return kept
}

// single reports whether RFC 8288 allows the parameter only once.
func single(name string) bool { return name == "media" || name == "title" || name == "type" }

func contains(params []Param, name string) bool {
	return slices.ContainsFunc(params, func(p Param) bool { return p.Name == name })
}

// normalURI returns s as AppendLink writes it.
func normalURI(s string) string {
	for i := range len(s) {
		if !isURIChar(s[i]) {
			return string(appendURI(nil, s))
		}
	}
	return s
}

// normalRel returns s as AppendLink writes it.
func normalRel(s string) string {
	for i := range len(s) {
		if !isURIChar(s[i]) {
			return string(appendRel(nil, s))
		}
	}
	return s
}

// indexAny is like strings.IndexAny, but returns len(s) instead of -1.
func indexAny(s, chars string) int {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return i
	}
	return len(s)
}
