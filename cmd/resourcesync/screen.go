package main

import (
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// A screen is where messages go. On a terminal the line below the messages may
// show how something is getting on.
type screen struct {
	terminal bool

	mu    sync.Mutex
	w     io.Writer
	shown bool // a status, on the line of the cursor
}

func newScreen(w io.Writer) *screen {
	f, ok := w.(*os.File)
	return &screen{w: w, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// eraseLine goes back to the beginning of the line and erases it.
const eraseLine = "\r\x1b[K"

// Write writes a message, in place of the status if there is one.
func (s *screen) Write(message []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	return s.w.Write(message)
}

// status shows a line that the next one replaces; an empty one shows nothing. It
// is for terminals only.
func (s *screen) status(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	if line != "" {
		io.WriteString(s.w, line)
		s.shown = true
	}
}

func (s *screen) erase() {
	if s.shown {
		io.WriteString(s.w, eraseLine)
		s.shown = false
	}
}
