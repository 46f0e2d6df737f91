package terminal

import (
	"io"
	"strings"
	"unicode/utf8"
)

// A Table has rows of cells, which are aligned in columns. Rows may have different
// numbers of cells.
type Table struct {
	rows  [][]Cell
	right []bool // by column
}

// A Cell is text in a style.
type Cell struct {
	Text  string
	Style Style
}

// Header adds a row of titles. Columns whose titles begin with ">", which is not printed,
// are aligned on the right.
func (t *Table) Header(titles ...string) {
	t.right = make([]bool, len(titles))
	row := make([]Cell, len(titles))
	for i, title := range titles {
		title, t.right[i] = strings.CutPrefix(title, ">")
		row[i] = Cell{title, Faint}
	}
	t.rows = append(t.rows, row)
}

// Row adds a row of cells in the plain style.
func (t *Table) Row(texts ...string) {
	row := make([]Cell, len(texts))
	for i, text := range texts {
		row[i].Text = text
	}
	t.Cells(row...)
}

// Cells adds a row.
func (t *Table) Cells(row ...Cell) { t.rows = append(t.rows, row) }

// WriteTable writes a table with an indentation of two spaces and two spaces between columns.
// Control characters in cells are replaced.
func (s *Screen) WriteTable(t *Table) error {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.Text))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		for len(row) > 0 && row[len(row)-1].Text == "" {
			row = row[:len(row)-1]
		}
		for i, c := range row {
			b.WriteString("  ")
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.Text))
			text := s.Paint(c.Style, Printable(c.Text))
			switch {
			case i < len(t.right) && t.right[i]:
				b.WriteString(padding + text)
			case i == len(row)-1:
				b.WriteString(text)
			default:
				b.WriteString(text + padding)
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(s, b.String())
	return err
}
