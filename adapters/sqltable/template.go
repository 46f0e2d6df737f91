package sqltable

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A template is a URI template: literals with variables between them. It begins and
// ends with a literal, which may be empty.
type template struct {
	literals  []string // one more than variables
	variables []variable
}

// A variable is replaced by the value of a column.
type variable struct {
	column string
	raw    bool // the value is percent-encoded already
}

// CheckTemplate returns an error if a text cannot be the URI of a [Table]. Whether the table has
// the columns is seen when it is opened.
func CheckTemplate(text string) error {
	_, err := parseTemplate(text)
	return err
}

func parseTemplate(text string) (*template, error) {
	t := new(template)
	for rest := text; ; {
		literal, after, found := strings.Cut(rest, "{")
		if strings.Contains(literal, "}") {
			return nil, fmt.Errorf("URI template %q has a } without a {", text)
		}
		t.literals = append(t.literals, literal)
		if !found {
			break
		}
		if percent := strings.LastIndexByte(literal, '%'); percent >= 0 && percent > len(literal)-3 {
			return nil, fmt.Errorf("URI template %q: %q is not a complete percent-encoding: write %% as %%25", text, literal[percent:])
		}
		name, after, found := strings.Cut(after, "}")
		if !found {
			return nil, fmt.Errorf("URI template %q has a { without a }", text)
		}
		column, raw := strings.CutPrefix(name, "+")
		if column == "" || strings.ContainsAny(column, "{\x00") {
			return nil, fmt.Errorf("URI template %q: {%s} names no column", text, name)
		}
		t.variables = append(t.variables, variable{column, raw})
		rest = after
	}
	if len(t.variables) == 0 {
		return nil, fmt.Errorf("URI template %q names no column: give one such as https://example.org/articles/{id}", text)
	}
	// The text before the first value must begin a URI, unless that value does.
	if t.isWhole() && t.variables[0].raw {
		return t, nil
	}
	if err := rsxml.CheckURI(strings.Join(t.literals, "1")); err != nil {
		return nil, fmt.Errorf("URI template %q: %w", text, err)
	}
	return t, nil
}

// isWhole reports whether URIs begin with a value, which then has their scheme.
func (t *template) isWhole() bool { return t.literals[0] == "" }

// columns returns the names of the columns in t, each once.
func (t *template) columns() []string {
	var names []string
	for _, v := range t.variables {
		if !slices.Contains(names, v.column) {
			names = append(names, v.column)
		}
	}
	return names
}

// isUnreserved reports whether c is unreserved in URIs (RFC 3986, section 2.3).
func isUnreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// appendEscaped appends value to dst, percent-encoded.
func appendEscaped(dst, value []byte) []byte {
	const hex = "0123456789ABCDEF"
	for _, c := range value {
		if isUnreserved(c) {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		}
	}
	return dst
}

// request returns the pattern of the URIs of t in requests: without a scheme and a
// host, unless they are part of a value (isWhole). It is nil if t does not show where the host
// ends.
func (t *template) request() *regexp.Regexp {
	begin := ""
	if !t.isWhole() {
		scheme, rest, found := strings.Cut(t.literals[0], "://")
		slash := strings.IndexByte(rest, '/')
		if !found || strings.ContainsAny(scheme, "/?#") || slash < 0 {
			return nil
		}
		begin = rest[slash:]
	}
	var b strings.Builder
	b.WriteString("^" + regexp.QuoteMeta(begin))
	for i, v := range t.variables {
		if v.raw {
			b.WriteString("(.*)")
		} else {
			b.WriteString("([^/?]*)")
		}
		b.WriteString(regexp.QuoteMeta(t.literals[i+1]))
	}
	b.WriteString("$")
	return regexp.MustCompile(b.String())
}

// place returns the path and the query of u in a normal form, which is equal for URLs
// of the same resource.
func place(u *url.URL) string {
	return cmp.Or((&url.URL{Path: u.Path}).EscapedPath(), "/") + "?" + u.RawQuery
}
