// Package terminal writes for people: colours, tables, and a status line on a terminal,
// and plain text elsewhere.
package terminal

import (
	"io"
	"os"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/term"
)

// A Screen receives text. On a terminal it can show a status line below the text. It is
// safe for concurrent use.
type Screen struct {
	// Control reports whether the screen obeys control sequences: it is a terminal,
	// and TERM is not dumb.
	Control bool

	// Colour reports whether the screen shows colours: Control is true, and NO_COLOR
	// is not set (no-color.org).
	Colour bool

	width func() int // in columns

	mu    sync.Mutex
	w     io.Writer
	shown bool // a status is on the line of the cursor
}

// New returns a Screen that writes to w.
func New(w io.Writer) *Screen {
	s := &Screen{w: w, width: func() int { return defaultWidth }}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return s
	}
	s.Control, s.Colour = true, os.Getenv("NO_COLOR") == ""
	s.width = func() int {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
		return defaultWidth
	}
	return s
}

const defaultWidth = 80

// eraseLine erases the line of the cursor.
const eraseLine = "\r\x1b[K"

// Write writes text, in place of the status if there is one.
func (s *Screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	return s.w.Write(text)
}

// Status replaces the status line; an empty one removes it. It does nothing without
// Control. A line that is too long for the screen is cut, because it could not be erased.
func (s *Screen) Status(line string) {
	if !s.Control {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	if line != "" {
		runes := []rune(Printable(line))
		io.WriteString(s.w, string(runes[:min(len(runes), s.width()-1)]))
		s.shown = true
	}
}

func (s *Screen) erase() {
	if s.shown {
		io.WriteString(s.w, eraseLine)
		s.shown = false
	}
}

// A Style is a style of text.
type Style string

// The styles, which are readable on light and dark screens.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Faint  Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// Paint returns text in a style, or text itself on a screen without colours.
func (s *Screen) Paint(style Style, text string) string {
	if !s.Colour || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// Printable returns text with the replacement character in place of characters that are
// not printable: a terminal may obey them.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
