package main

import (
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// A screen receives log messages. On a terminal it can show a status line below them.
type screen struct {
	terminal bool

	mu    sync.Mutex
	w     io.Writer
	shown bool // a status is on the line of the cursor
}

func newScreen(w io.Writer) *screen {
	f, ok := w.(*os.File)
	return &screen{w: w, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// eraseLine erases the current line.
const eraseLine = "\r\x1b[K"

// Write writes a message, in place of the status if there is one.
func (s *screen) Write(message []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	return s.w.Write(message)
}

// status replaces the status line on a terminal; an empty one removes it.
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
