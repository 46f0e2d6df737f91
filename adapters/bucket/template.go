package bucket

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/uritemplate"
)

// A template is the URI of the objects, divided at the name of the object.
type template struct{ before, after string }

const variable = "{key}"

var errVariable = errors.New("write {key} once, in place of the name of the object, as in https://data.example.org/{key}")

// CheckTemplate returns an error if New would refuse text as a template of URIs.
func CheckTemplate(text string) error {
	_, err := parseTemplate(text)
	return err
}

func parseTemplate(text string) (template, error) {
	parsed, err := uritemplate.Parse(text, func(v uritemplate.Variable) error {
		if v.Name != "key" || v.Reserved {
			return errVariable
		}
		return nil
	})
	if err == nil {
		err = parsed.CheckURI()
	}
	if err == nil && len(parsed.Variables) != 1 {
		err = fmt.Errorf("URI template %q: %w", text, errVariable)
	}
	if err != nil {
		return template{}, fmt.Errorf("bucket: %w", err)
	}
	before, after := parsed.Literals[0], parsed.Literals[1]
	u, err := url.Parse(before + "1" + after)
	switch {
	case err != nil:
		return template{}, fmt.Errorf("bucket: URI %q: %w", text, err)
	case u.Scheme != "http" && u.Scheme != "https":
		return template{}, fmt.Errorf("bucket: URI %q must begin with http:// or https://: harvesters request the objects there", text)
	case u.Path == "" || u.Fragment != "" || u.User != nil:
		return template{}, fmt.Errorf("bucket: URI %q: {key} must be in the path or the query; userinfo and fragments are not allowed", text)
	}
	return template{before, after}, nil
}

// uri returns the URI of the object at key. Slashes stay; a plus sign is encoded, because some stores
// read it as a space even in a path.
func (t template) uri(key string) string {
	b := make([]byte, 0, len(t.before)+len(key)+len(t.after)+8)
	b = append(b, t.before...)
	b = uritemplate.AppendEscaped(b, key, "/")
	return string(append(b, t.after...))
}

// isURI reports whether t expands to uri for key. It allocates nothing.
func (t template) isURI(uri, key string) bool {
	rest, ok := strings.CutPrefix(uri, t.before)
	if !ok {
		return false
	}
	if rest, ok = strings.CutSuffix(rest, t.after); !ok {
		return false
	}
	var buf [256]byte
	return string(uritemplate.AppendEscaped(buf[:0], key, "/")) == rest
}

// key returns the key of the object at uri, the inverse of uri.
func (t template) key(uri string) (string, error) {
	rest, begins := strings.CutPrefix(uri, t.before)
	rest, ends := strings.CutSuffix(rest, t.after)
	key, err := url.PathUnescape(rest)
	if !begins || !ends || err != nil || key == "" {
		return "", errors.New("it is not the URI of an object")
	}
	return key, nil
}
