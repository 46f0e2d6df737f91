package oaipmh

import (
	"strings"
	"testing"
)

func TestTemplate(t *testing.T) {
	for _, c := range []struct{ template, identifier, want string }{
		{"https://repo.example/{identifier}", "oai:a.example:1/2 é", "https://repo.example/oai%3Aa.example%3A1%2F2%20%C3%A9"},
		{"https://repo.example/{+identifier}.html", "oai:a.example:1/2 é%2F", "https://repo.example/oai:a.example:1/2%20%C3%A9%2F.html"},
		{"https://repo.example/handle/{+local}", "oai:a.example:123/45:6", "https://repo.example/handle/123/45:6"},
		{"https://repo.example/{local}?of={identifier}", "OAI:a:1", "https://repo.example/1?of=OAI%3Aa%3A1"},
		{"https://repo.example/{local}", "urn:isbn:1", "https://repo.example/urn%3Aisbn%3A1"},
		{"https://repo.example/{local}", "oai:a", "https://repo.example/oai%3Aa"},
	} {
		parsed, err := parseTemplate(c.template)
		if err != nil {
			t.Errorf("%s: %v", c.template, err)
		} else if got := parsed.expand(c.identifier); got != c.want {
			t.Errorf("%s of %s is %s, expected %s", c.template, c.identifier, got, c.want)
		}
	}
	for text, want := range map[string]string{
		"https://repo.example/{id}":        "the variables are {identifier}",
		"https://repo.example/":            "the same URI",
		"https://repo.example/{identifier": "without a }",
		"/handle/{local}":                  "URI",
	} {
		if _, err := parseTemplate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, expected %q", text, err, want)
		}
	}
}
