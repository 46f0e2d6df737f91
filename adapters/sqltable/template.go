package sqltable

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/uritemplate"
)

// A template is the template of the URIs of a table. A variable is replaced by the value of a
// column; the value of a reserved one is percent-encoded already.
type template struct{ *uritemplate.Template }

// CheckTemplate returns an error if a text cannot be the URI of a [Table]. Whether the table has
// the columns is seen when it is opened.
func CheckTemplate(text string) error {
	_, err := parseTemplate(text)
	return err
}

func parseTemplate(text string) (*template, error) {
	parsed, err := uritemplate.Parse(text, func(v uritemplate.Variable) error {
		if v.Name == "" || strings.ContainsAny(v.Name, "{\x00") {
			return errors.New("{" + v.Name + "} names no column")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := &template{parsed}
	if len(t.Variables) == 0 {
		return nil, fmt.Errorf("URI template %q names no column: give one such as https://example.org/articles/{id}", text)
	}
	// The text before the first value must begin a URI, unless that value does.
	if t.isWhole() && t.Variables[0].Reserved {
		return t, nil
	}
	return t, t.CheckURI()
}

// isWhole reports whether URIs begin with a value, which then has their scheme.
func (t *template) isWhole() bool { return t.Literals[0] == "" }

// columns returns the names of the columns in t, each once.
func (t *template) columns() []string {
	var names []string
	for _, v := range t.Variables {
		if !slices.Contains(names, v.Name) {
			names = append(names, v.Name)
		}
	}
	return names
}

// request returns the pattern of the URIs of t in requests: without a scheme and a
// host, unless they are part of a value (isWhole). It is nil if t does not show where the host
// ends.
func (t *template) request() *regexp.Regexp {
	begin := ""
	if !t.isWhole() {
		scheme, rest, found := strings.Cut(t.Literals[0], "://")
		slash := strings.IndexByte(rest, '/')
		if !found || strings.ContainsAny(scheme, "/?#") || slash < 0 {
			return nil
		}
		begin = rest[slash:]
	}
	var b strings.Builder
	b.WriteString("^" + regexp.QuoteMeta(begin))
	for i, v := range t.Variables {
		if v.Reserved {
			b.WriteString("(.*)")
		} else {
			b.WriteString("([^/?]*)")
		}
		b.WriteString(regexp.QuoteMeta(t.Literals[i+1]))
	}
	b.WriteString("$")
	return regexp.MustCompile(b.String())
}

// place returns the path and the query of u in a normal form, which is equal for URLs
// of the same resource.
func place(u *url.URL) string {
	return cmp.Or((&url.URL{Path: u.Path}).EscapedPath(), "/") + "?" + u.RawQuery
}
