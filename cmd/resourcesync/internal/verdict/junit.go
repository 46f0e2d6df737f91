package verdict

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/check"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

// The elements of the XML that JUnit writes and CI systems read.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		At       string      `xml:"timestamp,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitFailure `xml:"failure"`
		Skipped *junitFailure `xml:"skipped"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes a report with a test case for each rule. One has failed if a finding of it makes
// the report not OK. One with other findings is skipped.
func writeJUnit(w io.Writer, r *check.Report) error {
	suite := junitSuite{
		Name: "resourcesync check " + valid(r.Target), At: r.Begun.UTC().Format(time.RFC3339),
		Time: fmt.Sprintf("%.3f", r.Ended.Sub(r.Begun).Seconds()),
	}
	found := make(map[string]*group)
	for _, g := range groups(r) {
		found[g.ID] = g
	}
	for _, rule := range check.Rules() {
		c := junitCase{Class: "resourcesync." + string(rule.Harm), Name: rule.ID + ": " + rule.Text}
		if g := found[rule.ID]; g != nil {
			f := &junitFailure{Message: fmt.Sprintf("%s. %s", webpage.Number(g.Count, "finding"), rule.Remedy), Text: valid(list(g))}
			if g.Fails() {
				f.Type = g.Sentences()
				c.Failure = f
				suite.Failures++
			} else {
				c.Skipped = f
				suite.Skipped++
			}
		}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Tests = len(suite.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// list returns the findings of a group, one a line.
func list(g *group) string {
	var b strings.Builder
	for _, f := range g.Findings {
		fmt.Fprintf(&b, "%s: %s (%s, %s)\n", place(&f), f.Message, force(f.Force), f.Section)
	}
	if more := g.More(); more > 0 {
		fmt.Fprintf(&b, "and %s more\n", webpage.Number(more, "time"))
	}
	return b.String()
}

// valid removes characters from text that XML cannot express.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
