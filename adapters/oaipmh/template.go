package oaipmh

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A template turns identifiers into URIs. Its syntax is simple and reserved expansion of
// RFC 6570: {identifier} is percent-encoded, and {+identifier} keeps slashes and other
// reserved characters. {local} and {+local} are the identifier without "oai:" and the
// namespace that follows.
type template struct {
	literals  []string // one more than variables
	variables []variable
}

type variable struct{ local, reserved bool }

var errVariables = errors.New("the variables are {identifier}, {+identifier}, {local} and {+local}")

func parseTemplate(text string) (*template, error) {
	t := new(template)
	rest := text
	for {
		literal, after, found := strings.Cut(rest, "{")
		t.literals = append(t.literals, literal)
		if !found {
			break
		}
		name, after, found := strings.Cut(after, "}")
		if !found {
			return nil, fmt.Errorf("URI template %q has a { without a }", text)
		}
		name, reserved := strings.CutPrefix(name, "+")
		if name != "identifier" && name != "local" {
			return nil, fmt.Errorf("URI template %q: %w", text, errVariables)
		}
		t.variables = append(t.variables, variable{name == "local", reserved})
		rest = after
	}
	if len(t.variables) == 0 {
		return nil, fmt.Errorf("URI template %q would give all records the same URI: %w", text, errVariables)
	}
	if err := rsxml.CheckURI(strings.Join(t.literals, "1")); err != nil {
		return nil, fmt.Errorf("URI template %q: %w", text, err)
	}
	return t, nil
}

// expand returns the URI of a record.
func (t *template) expand(identifier string) string {
	var b strings.Builder
	for i, v := range t.variables {
		b.WriteString(t.literals[i])
		value := identifier
		if v.local {
			value = local(identifier)
		}
		if v.reserved {
			b.WriteString(escapeReserved(value))
		} else {
			b.WriteString(escape(value))
		}
	}
	b.WriteString(t.literals[len(t.variables)])
	return b.String()
}

// local returns the part of an identifier after the namespace, if it has the form
// oai:namespace:local of the guidelines.
func local(identifier string) string {
	if scheme, rest, ok := strings.Cut(identifier, ":"); ok && strings.EqualFold(scheme, "oai") {
		if _, local, ok := strings.Cut(rest, ":"); ok && local != "" {
			return local
		}
	}
	return identifier
}

// escape percent-encodes everything but unreserved characters.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// escapeReserved is escape that keeps reserved characters and percent-encodings.
func escapeReserved(s string) string {
	const reserved = ":/?#[]@!$&'()*+,;="
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		isEncoding := c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2])
		if isEncoding || strings.IndexByte(reserved, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString(escape(s[i : i+1]))
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}
