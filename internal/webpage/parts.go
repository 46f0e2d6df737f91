package webpage

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
