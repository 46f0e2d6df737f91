package verdict

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/check"
)

// TestHTML: the page has every finding, and nothing that a Source wrote becomes markup or the
// address of a script.
func TestHTML(t *testing.T) {
	const evil = `<script>alert("1")</script>&'`
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	r := &check.Report{Target: "javascript:alert(1)", Begun: now, Ended: now, Harms: map[check.Harm]int64{check.Error: 2}, Forces: map[check.Force]int64{check.Must: 1}, Omitted: 1, Counts: map[string]int64{}, Unchecked: []string{evil}}
	for i, rule := range check.Rules() {
		s := rule.Sentences[0]
		r.Findings = append(r.Findings, check.Finding{Rule: rule.ID, Harm: rule.Harm, Force: s.Force, Section: s.Section, Document: "https://example.org/" + evil, Message: evil, Line: i % 3, Column: 2, Entry: i % 2 * 1234, Quote: s.Quote})
		r.Counts[rule.ID] = int64(i%3)*700 + 1
	}
	var b bytes.Buffer
	if err := Write(&b, "html", r); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	for _, want := range []string{"breaks musts", "<caption>1 finding</caption>", "<caption>701 findings, of which these are the first</caption>", "<td>1:2 (entry\u00a01234)</td>", "Not shown: 1 finding of less", "<h2>Not checked</h2>", `class="brand" href="about:invalid`} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for _, rule := range check.Rules() {
		if !strings.Contains(html, "<code>"+rule.ID+"</code>") {
			t.Errorf("the page lacks the rule %s", rule.ID)
		}
	}
	for _, bad := range []string{"<script>alert", `href="javascript:`} {
		if strings.Contains(html, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
}
