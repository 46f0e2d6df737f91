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

	Header bool // cells are the headers of their rows
}

// A Table is a table of texts and links.
type Table struct {
	Label   string // what it shows
	Caption bool   // Label is shown above the rows
	Columns []Column
	Rows    [][]Cell
	Empty   string // what a table without rows means
	Live    int    // rows up to which a script adds new ones; 0 for none
}

// A Cell is a cell of a table: a link, a badge, a text or a time. It may be empty. Note is below a link.
type Cell struct {
	URL, Text, Note string
	Spoken          string // continues Text for screen readers
	Foreign         bool   // URL leads to a resource of others, which crawlers need not follow from here
	Badge           bool   // Text is the word of a badge
	At              time.Time
}

// A Pager leads to the other pages of a list. URLs that are empty are not shown.
type Pager struct {
	First, Previous, Next string
	Note                  string // what this page shows
}
