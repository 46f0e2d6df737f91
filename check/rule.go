package check

import "slices"

// A Severity is the severity of a finding.
type Severity string

const (
	// Error: Destinations cannot read a document, or their copies become wrong or
	// incomplete.
	Error Severity = "error"

	// Warning: a rule of a specification is broken, but many Destinations cope.
	Warning Severity = "warning"

	// Advice: no rule is broken, but Destinations would work better.
	Advice Severity = "advice"
)

// A Rule is a requirement, or a recommendation, that [Check] tests.
type Rule struct {
	ID       string   `json:"id"` // such as "at-missing"; it does not change between versions
	Severity Severity `json:"severity"`

	// Section is where the rule comes from, such as "Core 10.1". It is empty for a
	// rule that applies to several kinds of documents; each Finding has the section of
	// its own.
	Section string `json:"section,omitempty"`

	Text   string `json:"text"`   // the rule in a sentence
	Remedy string `json:"remedy"` // how to follow it
}

// Rules returns all rules, in the order of their severities.
func Rules() []Rule {
	all := slices.Concat(syntaxRules, documentRules, treeRules, httpRules, contentRules, pushRules)
	slices.SortStableFunc(all, func(a, b Rule) int { return a.Severity.order() - b.Severity.order() })
	return all
}

func (s Severity) order() int {
	return slices.Index([]Severity{Error, Warning, Advice}, s)
}

// ruleByID has all rules.
var ruleByID = func() map[string]*Rule {
	m := make(map[string]*Rule)
	for _, r := range Rules() {
		m[r.ID] = &r
	}
	return m
}()
