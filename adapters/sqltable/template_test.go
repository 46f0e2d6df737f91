package sqltable

import (
	"strings"
	"testing"
	"time"
)

func TestTemplates(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.org/{id}":           "",
		"https://example.org/{+path}?n={id}": "",
		"{+url}":                             "",
		"{+base}/x/{id}":                     "",
		"urn:isbn:{isbn}":                    "",
		"https://example.org/":               "names no column",
		"https://example.org/{}":             "names no column",
		"https://example.org/{+}":            "names no column",
		"https://example.org/{a{b}":          "names no column",
		"/articles/{id}":                     "not absolute",
		"https://{id}":                       "",
		"{url}":                              "not absolute",
	} {
		_, err := parseTemplate(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
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
