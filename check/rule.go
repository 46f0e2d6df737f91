package check

import "slices"

// A Harm is what a finding does to the copies of Destinations.
type Harm string

const (
	Error   Harm = "error"   // copies become wrong or incomplete
	Warning Harm = "warning" // copies may become wrong or incomplete
	Advice  Harm = "advice"  // copies are right, but cost more than they need to
)

// Harms returns all harms, the worst first.
func Harms() []Harm { return []Harm{Error, Warning, Advice} }

// A Force is how strongly a sentence of a specification binds, in the words of RFC 2119. A
// definition that a document contradicts counts as Must, and a recommendation as Should.
type Force string

const (
	Must   Force = "must"
	Should Force = "should"
	May    Force = "may"  // the specification mentions what is missing as an option
	None   Force = "none" // the specification allows what was found
)

// Forces returns all forces, the strongest first.
func Forces() []Force { return []Force{Must, Should, May, None} }

func (h Harm) order() int  { return slices.Index(Harms(), h) }
func (f Force) order() int { return slices.Index(Forces(), f) }

// A Rule is something that [Check] looks for.
type Rule struct {
	ID   string `json:"id"` // such as "at-missing"; it does not change between versions
	Harm Harm   `json:"harm"`

	// Text states the rule. If the force of a sentence is None, Text breaks no
	// specification, and states what Destinations need.
	Text   string `json:"text"`
	Remedy string `json:"remedy"` // what to change

	// Sentences are those that the rule judges: one for each kind of document, or one for
	// all. There is at least one.
	Sentences []Sentence `json:"sentences"`

	// Seen is the software that is known to write documents in which the rule finds
	// something, if any.
	Seen []string `json:"seen,omitempty"`
}

// Force returns the strongest force of the sentences of the rule.
func (r *Rule) Force() Force {
	force := None
	for _, s := range r.Sentences {
		if s.Force.order() < force.order() {
			force = s.Force
		}
	}
	return force
}

// sentence returns the sentence of a section, or the first one if section is empty.
func (r *Rule) sentence(section string) Sentence {
	for _, s := range r.Sentences {
		if s.Section == section {
			return s
		}
	}
	if s := r.Sentences[0]; section == "" {
		return s
	}
	return Sentence{Section: section, Force: r.Force()}
}

// hasSentence reports whether a rule judges a sentence of a section.
func hasSentence(id, section string) bool {
	return slices.ContainsFunc(ruleByID[id].Sentences, func(s Sentence) bool { return s.Section == section })
}

// Rules returns all rules, the most harmful first.
func Rules() []Rule {
	all := slices.Concat(syntaxRules, documentRules, treeRules, httpRules, contentRules, pushRules)
	slices.SortStableFunc(all, func(a, b Rule) int { return a.Harm.order() - b.Harm.order() })
	return all
}

// ruleByID has all rules.
var ruleByID = func() map[string]*Rule {
	m := make(map[string]*Rule)
	for _, r := range Rules() {
		m[r.ID] = &r
	}
	return m
}()
