package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/resourcesync-go/resourcesync/adapters/dir"
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

const (
	// logEvery is the interval of progress lines in the log, without a terminal.
	logEvery = time.Minute

	// estimateAfter is the duration of a scan after which the remaining time is
	// estimated.
	estimateAfter = 5 * time.Second
)

// A firstScan reports the progress of the first scan of a process: on a terminal
// continuously, otherwise once a minute in the log.
type firstScan struct {
	screen *screen
	log    *slog.Logger

	// count returns the totals of the scan; bytes are zero if only the files are
	// known.
	count func(ctx context.Context) (files, bytes int64, err error)

	begun, logged time.Time
	total         atomic.Pointer[dir.Progress] // nil until it is known
}

// begin starts the reports on a scan. The returned function ends them.
func (f *firstScan) begin(ctx context.Context) (end func()) {
	f.begun = time.Now()
	f.logged = f.begun
	f.total.Store(nil)
	ctx, cancel := context.WithCancel(ctx)
	var counting sync.WaitGroup
	counting.Go(func() {
		// The scan is reported without totals, and fails with the same error.
		if files, bytes, err := f.count(ctx); err == nil {
			f.total.Store(&dir.Progress{Files: files, Bytes: bytes})
		}
	})
	return func() {
		cancel()
		counting.Wait()
		f.screen.status("")
	}
}

func (f *firstScan) report(now dir.Progress) {
	total, remaining := f.total.Load(), f.remaining(now)
	if f.screen.terminal {
		f.screen.status(statusLine(now, total, remaining))
		return
	}
	if time.Since(f.logged) < logEvery {
		return
	}
	f.logged = time.Now()
	attrs := []any{"files", now.Files, "bytes_read", now.Bytes}
	if total != nil {
		attrs = append(attrs, "of_files", total.Files)
		if total.Bytes > 0 {
			attrs = append(attrs, "of_bytes", total.Bytes)
		}
	}
	if remaining > 0 {
		attrs = append(attrs, "remaining", remaining.String())
	}
	f.log.Info("scanning the folder", attrs...)
}

// remaining estimates the time until the scan ends. Zero is unknown.
func (f *firstScan) remaining(now dir.Progress) time.Duration {
	total, took := f.total.Load(), time.Since(f.begun)
	if total == nil || took < estimateAfter {
		return 0
	}
	done, of := now.Files, total.Files
	if now.Bytes > 0 && total.Bytes > 0 { // reading takes most of the time
		done, of = now.Bytes, total.Bytes
	}
	if done <= 0 || done >= of {
		return 0
	}
	return max(time.Second, time.Duration(float64(took)*(float64(of)/float64(done)-1)).Round(time.Second))
}

func statusLine(now dir.Progress, total *dir.Progress, remaining time.Duration) string {
	files, read := fmt.Sprint(now.Files), fmt.Sprint(now.Bytes/1e6)
	if total != nil {
		files += fmt.Sprint(" of ", total.Files)
		if total.Bytes > 0 {
			read += fmt.Sprint(" of ", total.Bytes/1e6)
		}
	}
	line := fmt.Sprintf("Looking through the folder: %s files, %s MB read", files, read)
	if remaining > 0 {
		line += fmt.Sprintf(", about %v left", remaining)
	}
	return line
}
