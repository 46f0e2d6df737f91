package sqltable

import (
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

func TestTemplates(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.org/{id}":           "",
		"https://example.org/{+path}?n={id}": "",
		"{+url}":                             "",
		"{+base}/x/{id}":                     "",
		"urn:isbn:{isbn}":                    "",
		"https://example.org/":               "names no column",
		"https://example.org/{":              "without a }",
		"https://example.org/}":              "without a {",
		"https://example.org/{}":             "names no column",
		"https://example.org/{+}":            "names no column",
		"https://example.org/{a{b}":          "names no column",
		"/articles/{id}":                     "not absolute",
		"https://{id}":                       "",
		"https://example.org/é/{id}":         "write it as",
		"{url}":                              "not absolute",
		"https://example.org/%{id}":          "not a complete percent-encoding",
		"https://example.org/%4{+id}":        "not a complete percent-encoding",
		"https://example.org/%25{id}":        "",
	} {
		_, err := parseTemplate(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("https://example.org/{id}?a={b}", "a b/é%")
	f.Add("A:%{0}{0}", "X")
	f.Fuzz(func(t *testing.T, text, value string) {
		tmpl, err := parseTemplate(text)
		if err != nil || tmpl.variables[0].raw {
			t.Skip()
		}
		escaped := string(appendEscaped(nil, []byte(value)))
		for _, c := range []byte(escaped) {
			if c != '%' && !isUnreserved(c) {
				t.Errorf("%q is %q", value, escaped)
			}
		}
		if uri := strings.Join(tmpl.literals, escaped); escaped != "" && len(uri) < 2000 {
			if err := rsxml.CheckURI(uri); err != nil && rsxml.CheckURI(strings.Join(tmpl.literals, "1")) == nil && !strings.Contains(err.Error(), "absolute") {
				t.Errorf("%q with %q: %v", text, value, err)
			}
		}
	})
}

func TestParseTime(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 30, 15, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-03-01T12:30:15Z":          at,
		"2026-03-01 12:30:15":           at,
		"2026-03-01 12:30:15.000250":    at.Add(250 * time.Microsecond),
		"2026-03-01T13:30:15.25+01:00":  at.Add(250 * time.Millisecond),
		"2026-03-01":                    at.Truncate(24 * time.Hour),
		"2026-03-01T12:30":              {},
		"yesterday, at about half past": {},
		"2026-02-30 12:30:15":           {},
		"":                              {},
	} {
		if got := parseTime([]byte(text)); !got.Equal(want) {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}
