package main

import (
	"html"
	"regexp"
	"strings"
	"testing"
)

// shownCommand returns the command on the status page that confirms held deletions, without the
// name of the program, after its question and the form of its times were checked.
func (s *served) shownCommand(question string) []string {
	s.t.Helper()
	_, page := s.getAs(s.stderr.await(`status for operators.* url=(\S+)`)[1], "Mozilla/5.0", "text/html")
	checkTimes(s.t, page)
	found := regexp.MustCompile(`<code>resourcesync (confirm-deletions .*)</code>`).FindStringSubmatch(page)
	if found == nil || !strings.Contains(html.UnescapeString(page), question) {
		s.t.Fatalf("no command, or not %q:\n%s", question, page)
	}
	return strings.Fields(strings.ReplaceAll(html.UnescapeString(found[1]), "'", "")) // no word has a space
}

// checkTimes checks that people see the times on a page in one form.
func checkTimes(t testing.TB, page string) {
	t.Helper()
	if other := regexp.MustCompile(`.*[^"]\d{4}-\d\d-\d\dT.*`).FindString(page); other != "" {
		t.Errorf("a time in another form: %s", other)
	}
}
