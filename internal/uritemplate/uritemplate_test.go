package uritemplate

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

var errName = errors.New("names nothing")

func parse(text string) (*Template, error) {
	t, err := Parse(text, func(v Variable) error {
		if v.Name == "" {
			return errName
		}
		return nil
	})
	if err == nil {
		err = t.CheckURI()
	}
	return t, err
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.org/{id}":           "",
		"https://example.org/{+path}?n={id}": "",
		"urn:isbn:{isbn}":                    "",
		"https://example.org/":               "",
		"https://example.org/{":              "has a { without a }",
		"https://example.org/}":              "has a } without a {",
		"https://example.org/{}":             "names nothing",
		"https://example.org/{+}":            "names nothing",
		"/articles/{id}":                     `URI template "/articles/{id}": `,
		"https://example.org/é/{+id}":        "write it as",
		"https://example.org/%{id}":          "not a complete percent-encoding",
		"https://example.org/%4{+id}":        "not a complete percent-encoding",
		"https://example.org/%25{id}":        "",
	} {
		_, err := parse(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// FuzzTemplate: a URI that a template makes of any value is valid, and shows the value.
func FuzzTemplate(f *testing.F) {
	f.Add("https://example.org/{id}?a={b}", "a b/é%")
	f.Add("A:%{0}{0}", "X")
	f.Fuzz(func(t *testing.T, text, value string) {
		template, err := parse(text)
		if err != nil {
			t.Skip()
		}
		escaped := string(AppendEscaped(nil, value, ""))
		if got, err := url.PathUnescape(escaped); err != nil || got != value || strings.ContainsAny(escaped, "/+?# ") {
			t.Errorf("%q is %q", value, escaped)
		}
		if uri := strings.Join(template.Literals, escaped); escaped != "" && len(uri) < 2000 {
			if err := rsxml.CheckURI(uri); err != nil && !strings.Contains(err.Error(), "absolute") {
				t.Errorf("%q with %q: %v", text, value, err)
			}
		}
	})
}
