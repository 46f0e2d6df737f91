package webpage

import (
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
)

// Number returns n with a noun in the singular: "1 list", "1,234 lists".
func Number(n int64, noun string) string {
	return humanize.Comma(n) + " " + english.PluralWord(int(n), noun, "")
}

// Datetime returns t as the attribute of a <time> element.
func Datetime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// A Fact is one of a row of figures.
type Fact struct {
	Name, Value string
	Note        string // a smaller text behind Value; may be empty
}

// A Column is a column of a table.
type Column struct {
	Name string

	// Class is "number" for figures, which are aligned right, and "wide" for a column
	// that is hidden on a narrow screen. It may be both, separated by a space.
	Class string
}

// A Pager leads to the other pages of a list. URLs that are empty are not shown.
type Pager struct {
	First, Previous, Next string
	Note                  string // what this page shows
}
