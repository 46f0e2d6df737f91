package check_test

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/check"
)

// plain returns the words of a specification in HTML or Markdown.
func plain(text string, isHTML bool) string {
	if isHTML {
		text = html.UnescapeString(regexp.MustCompile(`(?s)<!--.*?-->|</?[a-zA-Z][^>]*>`).ReplaceAllString(text, ""))
	}
	text = strings.ReplaceAll(text, "`", "")
	return strings.Join(strings.Fields(text), " ")
}

// TestQuotes holds that quotes are short, and that they are in the specifications.
func TestQuotes(t *testing.T) {
	texts := make(map[string]string)
	anchors := ""
	if shared := os.Getenv("RESOURCESYNC_SHARED"); shared != "" {
		for name, file := range map[string]string{"Core": "core-1.1-draft-1.0.9.html", "Change Notification": "change-notification-1.0.1.txt", "Notification 0.8": "notification-0.8-websocket-draft.txt"} {
			text, err := os.ReadFile(filepath.Join(shared, "spec", file))
			if err != nil {
				t.Fatal(err)
			}
			texts[name] = plain(string(text), name == "Core")
			if name == "Core" {
				anchors = string(text)
			}
		}
	}
	for _, rule := range check.Rules() {
		for _, s := range rule.Sentences {
			if n := len(strings.Fields(s.Quote)); n > 25 {
				t.Errorf("%s, %s: a quote of %d words", rule.ID, s.Section, n)
			}
			specification, _, _ := cutLast(s.Section)
			text := texts[specification]
			if s.Quote != "" && text != "" && !strings.Contains(text, strings.Join(strings.Fields(s.Quote), " ")) {
				t.Errorf("%s, %s: no such text: %s", rule.ID, s.Section, s.Quote)
			}
			if s.Quote == "" && (specification == "Core" || specification == "Change Notification") {
				t.Errorf("%s: no quote of %s", rule.ID, s.Section)
			}
			link := s.Link()
			_, anchor, _ := strings.Cut(link, "#")
			if specification == "Core" && (anchor == "" || anchors != "" && !strings.Contains(anchors, `"`+anchor+`"`)) || !strings.HasPrefix(link, "http") {
				t.Errorf("%s: the link %s", rule.ID, link)
			}
			if s.Translated() != (specification == "Framework Notification" && s.Quote != "") {
				t.Errorf("%s: translated: %t", s.Section, s.Translated())
			}
		}
		if allowed := rule.Force() == check.None; allowed && regexp.MustCompile(`\b(must|violat|breaks|not allowed|invalid)`).MatchString(rule.Text+rule.Remedy) {
			t.Errorf("%s is allowed, and its text claims a violation: %s", rule.ID, rule.Text)
		}
	}
}

func cutLast(section string) (specification, number string, ok bool) {
	i := strings.LastIndexByte(section, ' ')
	if i < 0 {
		return section, "", false
	}
	return section[:i], section[i+1:], true
}
