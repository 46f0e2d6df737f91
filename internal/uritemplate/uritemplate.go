// Package uritemplate reads URI templates: literals with variables between them, in the syntax of
// simple and reserved expansion of RFC 6570.
package uritemplate

import (
	"fmt"
	"strings"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A Template begins and ends with a literal, which may be empty.
type Template struct {
	Text      string
	Literals  []string // one more than variables
	Variables []Variable
}

// A Variable is {Name} or, if it is reserved, {+Name}.
type Variable struct {
	Name     string
	Reserved bool // reserved characters of the value are not percent-encoded
}

// Parse reads a template. check, which is called with each variable, returns why the template
// cannot have it, or nil.
func Parse(text string, check func(Variable) error) (*Template, error) {
	t := &Template{Text: text}
	for rest := text; ; {
		literal, after, found := strings.Cut(rest, "{")
		if strings.Contains(literal, "}") {
			return nil, fmt.Errorf("URI template %q has a } without a {", text)
		}
		t.Literals = append(t.Literals, literal)
		if !found {
			return t, nil
		}
		if percent := strings.LastIndexByte(literal, '%'); percent >= 0 && percent > len(literal)-3 {
			return nil, fmt.Errorf("URI template %q: %q is not a complete percent-encoding: write %% as %%25", text, literal[percent:])
		}
		name, after, found := strings.Cut(after, "}")
		if !found {
			return nil, fmt.Errorf("URI template %q has a { without a }", text)
		}
		var v Variable
		v.Name, v.Reserved = strings.CutPrefix(name, "+")
		if err := check(v); err != nil {
			return nil, fmt.Errorf("URI template %q: %w", text, err)
		}
		t.Variables = append(t.Variables, v)
		rest = after
	}
}

// CheckURI returns an error unless the expansions of t can be URIs in documents.
func (t *Template) CheckURI() error {
	if err := rsxml.CheckURI(strings.Join(t.Literals, "1")); err != nil {
		return fmt.Errorf("URI template %q: %w", t.Text, err)
	}
	return nil
}

// AppendEscaped appends value to dst, percent-encoded except for unreserved characters (RFC 3986,
// section 2.3) and the characters of keep.
func AppendEscaped[T string | []byte](dst []byte, value T, keep string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(value) {
		c := value[i]
		if isUnreserved(c) || strings.IndexByte(keep, c) >= 0 {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		}
	}
	return dst
}

func isUnreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}
