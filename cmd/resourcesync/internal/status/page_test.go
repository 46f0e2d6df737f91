package status

import (
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/oaipmh"
)

func TestLag(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Second: "less than a minute", time.Minute: "1 minute", 119 * time.Minute: "1 hour", 47 * time.Hour: "1 day", 48 * time.Hour: "2 days", 24 * 400 * time.Hour: "400 days"} {
		if got := lag(d); got != want {
			t.Errorf("%v: %s, expected %s", d, got, want)
		}
	}
}

// TestDocumentNames: every kind of document has a name.
func TestDocumentNames(t *testing.T) {
	for kind, want := range map[string]string{
		"description": "Source Description", "description-part": "Source Description (part)", "resourcelist-page": "Resource List (page)",
		"changelist-recent": "Change List (recent)", "changedump-manifest": "Change Dump Manifest", "change-notification": "Change Notification",
		"resourcelist-archive-page": "Resource List (archive page)", "other": "other",
	} {
		if got := documentName(kind); got != want {
			t.Errorf("%s: %s, expected %s", kind, got, want)
		}
	}
}

// TestRepositoryPage: the page has the state of a repository, in a single set and in one of several.
func TestRepositoryPage(t *testing.T) {
	set := Set{Name: "theses", Kind: "oai", Repository: &oaipmh.Status{Name: "Theses of Example", Records: 45, Unlisted: 1, Compared: time.Now()}}
	for _, s := range []*Status{{Set: set}, {Sets: []Set{set}}} {
		page, err := s.Page("example.org", "/", false, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Theses of Example", "Records without a usable URI", "Complete listing"} {
			if !strings.Contains(string(page), want) {
				t.Errorf("the page lacks %q", want)
			}
		}
	}
}
