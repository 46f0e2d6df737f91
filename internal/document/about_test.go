package document

import (
	"strings"
	"testing"
)

func TestAbout(t *testing.T) {
	for contact, want := range map[string]string{
		"repository@example.org":      "mailto:repository@example.org",
		"o'neil+rs@example.org":       "mailto:o%27neil+rs@example.org",
		"https://example.org/contact": "https://example.org/contact",
	} {
		a := About{strings.Repeat("ä", maxTitle), strings.Repeat("ä", maxDescription), contact}
		if field, err := a.Check(); err != nil || a.ContactURL() != want {
			t.Errorf("%s: %s %v, %s", contact, field, err, a.ContactURL())
		}
	}
	for want, all := range map[string][]About{
		"Title":       {{Title: strings.Repeat("a", maxTitle+1)}, {Title: "\xff"}},
		"Description": {{Description: strings.Repeat("a", maxDescription+1)}},
		"Contact":     {{Contact: "the library"}, {Contact: "javascript:alert(1)"}, {Contact: "https:///contact"}, {Contact: "The Library <a@example.org>"}, {Contact: "a@example.org?cc=b@example.org, c"}},
	} {
		for _, a := range all {
			if field, err := a.Check(); field != want || err == nil {
				t.Errorf("%+v: %s %v, want %s", a, field, err, want)
			}
		}
	}
}
