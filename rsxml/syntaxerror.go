package rsxml

import (
	"fmt"
)

// A SyntaxError reports the rule that a document breaks, and the position.
type SyntaxError struct {
	Line   int // from 1
	Column int // in bytes, from 1
	Entry  int // the number of the entry, from 1, or 0 outside of entries

	// ID names the rule, such as "loc-missing". It does not change between versions.
	ID string

	// Rule describes the violation.
	Rule string

	// Section is the source of the rule: "Core", "Change Notification",
	// "Framework Notification" or "Archives" with a section of that
	// specification, "Sitemap protocol", "XML", or "rsxml" for a limit of this
	// package.
	Section string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("rsxml: line %d, column %d: %s (%s)", e.Line, e.Column, e.Rule, e.Section)
}

// The sources of rules that do not depend on the capability.
const (
	core4           = "Core 4"
	core7           = "Core 7"
	sitemapProtocol = "Sitemap protocol"
	xmlSpec         = "XML"
	ownLimit        = "rsxml"
)
