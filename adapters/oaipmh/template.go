package oaipmh

import (
	"errors"
	"fmt"
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/uritemplate"
)

// A template turns identifiers into URIs. Its syntax is simple and reserved expansion of
// RFC 6570: {identifier} is percent-encoded, and {+identifier} keeps slashes and other
// reserved characters. {local} and {+local} are the identifier without "oai:" and the
// namespace that follows.
type template struct{ *uritemplate.Template }

var errVariables = errors.New("the variables are {identifier}, {+identifier}, {local} and {+local}")

func parseTemplate(text string) (*template, error) {
	t, err := uritemplate.Parse(text, func(v uritemplate.Variable) error {
		if v.Name != "identifier" && v.Name != "local" {
			return errVariables
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(t.Variables) == 0 {
		return nil, fmt.Errorf("URI template %q would give all records the same URI: %w", text, errVariables)
	}
	return &template{t}, t.CheckURI()
}

// expand returns the URI of a record.
func (t *template) expand(identifier string) string {
	uri := []byte(t.Literals[0])
	for i, v := range t.Variables {
		value := identifier
		if v.Name == "local" {
			value = local(identifier)
		}
		if v.Reserved {
			uri = appendReserved(uri, value)
		} else {
			uri = uritemplate.AppendEscaped(uri, value, "")
		}
		uri = append(uri, t.Literals[i+1]...)
	}
	return string(uri)
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

// appendReserved appends value to uri, percent-encoded except for reserved characters and
// percent-encodings.
func appendReserved(uri []byte, value string) []byte {
	for i := range len(value) {
		keep := ":/?#[]@!$&'()*+,;="
		if i+2 < len(value) && isHex(value[i+1]) && isHex(value[i+2]) {
			keep += "%"
		}
		uri = uritemplate.AppendEscaped(uri, value[i:i+1], keep)
	}
	return uri
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}
