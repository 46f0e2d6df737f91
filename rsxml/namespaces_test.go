package rsxml

import (
	"errors"
	"strings"
	"testing"
)

// TestNamespaces has spellings of the namespace of ResourceSync.
func TestNamespaces(t *testing.T) {
	const read, refused, foreign = "read", "refused", "foreign"
	for want, spaces := range map[string][]string{
		read: {
			"https://www.openarchives.org/rs/terms/", "http://openarchives.org/rs/terms/", "HTTP://www.OpenArchives.org/RS/Terms", "htp://www.openarchives.org/rs/terms/",
			"http://www.openarchives.org/rs/terms//", "www.openarchives.org/rs/terms/", "openarchives.org/rs/terms",
		},
		refused: {
			"http:/www.openarchives.org/rs/terms/", "http//www.openarchives.org/rs/terms/", "http:www.openarchives.org/rs/terms/", "//www.openarchives.org/rs/terms",
			"http:///www.openarchives.org/rs/terms/", "http.//www.openarchives.org/rs/terms/", `http:\\www.openarchives.org\rs\terms\`, "http://www.openarchives.org:80/rs/terms/",
			"http://ww.openarchives.org/rs/terms/", "http://wwwopenarchives.org/rs/terms/", "http://www.openarchives.org//rs//terms/", "http://www.openarchives.org/rs/terms/ ",
			"http://www.openarchives.org/rs/terms#", "http://www.openarchives.org/rs/term/", "http://www.openarchives.org/rs/", "http://www.openarchives.org/rs/2.0", "http:/www.openarchives.org/RS/1.1/",
			"http://www.openarchive.org/rs/terms/", "http://www.openarchvies.org/rs/", "http://www.openarchives.com/rs/terms/", "http://openarchives/rs/terms/",
			"http://www.openarchives.org/rsterms/", "http://www.openarchives.orgrs/terms/", "http://www.openarchives.org/sr/terms/", "http://www.openarchives.org/rss/terms/",
		},
		foreign: {
			"http://www.openarchives.org/OAI/2.0/", "http://www.openarchives.org/ore/terms/", "http://www.openarchives.org/", "http://www.openarchives.org/rss/", "http://www.openarchives.org/rsx/terms2/",
			"http://www.openarchives.org.example.org/rs/terms/", "https://example.org/openarchives.org/rs/terms/", "http://dev.openarchives.org/rs/", "http://archive.org/rs/terms/",
			"http://purl.org/dc/terms/", "http://purl.org/rs/terms/", "http://www.google.com/schemas/sitemap-image/1.1", "http://www.w3.org/1999/xhtml", "urn:rs:terms", "urn:isbn:0451450523", "https://example.org/rs",
		},
	} {
		for _, space := range spaces {
			doc := `<urlset xmlns="` + SitemapNS + `" xmlns:x="` + space + `"><x:md capability="resourcelist" at="2025-05-01"/><url><loc>b:1</loc></url></urlset>`
			head, entries, reports, err := tolerate(doc)
			got := foreign
			switch {
			case err != nil:
				got = refused
			case head.Metadata.Capability != "":
				got = read
			}
			if got != want {
				t.Errorf("%q is %s, want %s: %v, %v", space, got, want, reports, err)
			}
			syntax, _ := errors.AsType[*SyntaxError](err)
			switch want {
			case refused:
				if syntax == nil || syntax.ID != "namespace" || !strings.Contains(syntax.Rule, quote(space)) {
					t.Errorf("%q: %v", space, err)
				}
			case read:
				if len(reports) != 1 || !strings.Contains(reports[0], quote(space)+" is not") || len(entries) != 1 {
					t.Errorf("%q: %v, %v", space, entries, reports)
				}
			case foreign:
				if len(reports) != 0 || len(entries) != 1 {
					t.Errorf("%q: %v, %v", space, entries, reports)
				}
			}
		}
	}
}
