package rsxml

import "fmt"

// A SyntaxError says which rule a document breaks, and where.
type SyntaxError struct {
	Line   int // from 1
	Column int // in bytes, from 1

	// Rule says what is wrong.
	Rule string

	// Section is where the rule is written: "Core" with a section of the
	// core specification 1.1, "Change Notification" or "Framework
	// Notification" with one of theirs, "Sitemap protocol", "XML", or
	// "rsxml" for a limit of this package's own.
	Section string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("rsxml: line %d, column %d: %s (%s)", e.Line, e.Column, e.Rule, e.Section)
}

// Places where rules are written, beside those of rules.
const (
	core4           = "Core 4"
	core7           = "Core 7"
	sitemapProtocol = "Sitemap protocol"
	xmlSpec         = "XML"
	ownLimit        = "rsxml"
)
