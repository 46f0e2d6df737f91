package webpage

// A Fact is one of a row of figures: the argument of the template "facts" is a []Fact.
type Fact struct {
	Name  string
	Value any    // a string or template.HTML
	Note  string // a smaller text behind Value; may be empty
}

// A Column is a column of a table: the argument of the template "columns" is a []Column.
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
