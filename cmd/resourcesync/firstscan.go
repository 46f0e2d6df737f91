package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/dir"
)

const (
	// logEvery is how often a scan is reported in the log, where there is no
	// terminal.
	logEvery = time.Minute

	// estimateAfter is how long a scan runs before the remaining time is
	// estimated.
	estimateAfter = 5 * time.Second
)

// A firstScan reports how far the first scan of a process has come: on a terminal
// all the time, otherwise once a minute in the log.
type firstScan struct {
	screen *screen
	log    *slog.Logger

	// count returns the totals of the scan; bytes are zero if only the files are
	// known.
	count func(ctx context.Context) (files, bytes int64, err error)

	begun, logged time.Time
	total         atomic.Pointer[dir.Progress] // nil until it is known
}

// begin begins to report a scan, until the function that it returns is called.
func (f *firstScan) begin(ctx context.Context) (end func()) {
	f.begun = time.Now()
	f.logged = f.begun
	f.total.Store(nil)
	ctx, cancel := context.WithCancel(ctx)
	var counting sync.WaitGroup
	counting.Go(func() {
		// Without the totals the scan is still reported, and meets the same error.
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

// report reports the progress of the scan.
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
	attrs := []slog.Attr{slog.Int64("files", now.Files), slog.Int64("bytes_read", now.Bytes)}
	if total != nil {
		attrs = append(attrs, slog.Int64("of_files", total.Files))
		if total.Bytes > 0 {
			attrs = append(attrs, slog.Int64("of_bytes", total.Bytes))
		}
	}
	if remaining > 0 {
		attrs = append(attrs, slog.String("remaining", remaining.String()))
	}
	f.log.LogAttrs(context.Background(), slog.LevelInfo, "looking through the folder", attrs...)
}

// remaining estimates how long the scan is going to take, and returns zero if that
// is not known.
func (f *firstScan) remaining(now dir.Progress) time.Duration {
	total, took := f.total.Load(), time.Since(f.begun)
	if total == nil || took < estimateAfter {
		return 0
	}
	done, of := now.Files, total.Files
	if now.Bytes > 0 && total.Bytes > 0 { // reading takes longer than looking
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
