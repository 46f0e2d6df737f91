package linkheader

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// The limits of [Parse]. What lies beyond them is ignored.
const (
	MaxBytes  = 256 << 10 // bytes of all values together; a value that exceeds it is not read at all
	MaxLinks  = 1_000     // links
	MaxParams = 32        // Params of one link
)

const space = " \t\r\n"

// Parse returns the links in the values of a Link header field, in order:
//
//	links := linkheader.Parse(resp.Header.Values("Link")...)
//
// It is as lenient as RFC 8288 (appendix B) and a little more: it never fails,
// and what it cannot read it skips up to the next comma. Link-values without a
// relation type are no links and are left out, as are parameters whose name is
// no token. Of repeated rel, anchor, media, title and type parameters the first
// counts; those encoded by RFC 8187 take the place of their plain forms.
//
// Targets are not resolved; see [net/url.URL.Parse] for that. The cost is
// linear in the length of values, and bounded by [MaxBytes].
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

// cutLink reads the link-value at the start of s, after its <, and returns what
// follows it. Without an > the target has no end, and nothing follows.
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

// cutParam reads the parameter at the start of s, after its semicolon, and
// returns what follows it.
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

// cutQuoted reads the rest of a quoted string, after its opening quotation
// mark, and returns what follows the closing one. If that is missing the string
// goes to the end.
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

// afterComma returns what follows the first comma in s that is not in a quoted
// string.
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

// decodeExtended decodes the form of RFC 8187, charset'language'value. The only
// charset is UTF-8, as it is the only one that must be supported.
func decodeExtended(s string) (_ string, ok bool) {
	charset, s, _ := strings.Cut(s, "'")
	_, s, found := strings.Cut(s, "'")
	if !found || !strings.EqualFold(charset, "UTF-8") {
		return "", false
	}
	s, err := url.PathUnescape(s)
	return s, err == nil && utf8.ValidString(s)
}

// preferEncoded drops the parameters of which there is an encoded form, and
// gives that form their name (RFC 8288, appendix B.2, step 16).
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

// single reports whether RFC 8288 allows the parameter once only.
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

// indexAny is strings.IndexAny, but len(s) if there is none.
func indexAny(s, chars string) int {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return i
	}
	return len(s)
}
