package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
)

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
	screen *terminal.Screen
	log    *slog.Logger
	name   string // of the set; "" if it is alone
	unit   string // files or pages

	// count returns the totals of the scan; bytes are zero if only the files are
	// known. Without totals, it returns an error.
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
		f.screen.Status("")
	}
}

func (f *firstScan) report(now dir.Progress) {
	if f.screen.Control {
		f.screen.Status(f.statusLine(now))
		return
	}
	if time.Since(f.logged) < logEvery {
		return
	}
	f.logged = time.Now()
	total, remaining := f.total.Load(), f.remaining(now)
	attrs := []any{f.unit, now.Files}
	if now.Bytes > 0 || total != nil && total.Bytes > 0 {
		attrs = append(attrs, "bytes_read", now.Bytes)
	}
	if total != nil {
		attrs = append(attrs, "of_"+f.unit, total.Files)
		if total.Bytes > 0 {
			attrs = append(attrs, "of_bytes", total.Bytes)
		}
	}
	if remaining > 0 {
		attrs = append(attrs, "remaining", remaining.String())
	}
	f.log.Info("scanning", attrs...)
}

// done returns the part of the scan that is done, from 0 to 1. Zero is unknown.
func (f *firstScan) done(now dir.Progress) float64 {
	total := f.total.Load()
	if total == nil {
		return 0
	}
	done, of := now.Files, total.Files
	if now.Bytes > 0 && total.Bytes > 0 { // reading takes most of the time
		done, of = now.Bytes, total.Bytes
	}
	if of <= 0 {
		return 0
	}
	return min(1, float64(done)/float64(of))
}

// remaining estimates the time until the scan ends. Zero is unknown.
func (f *firstScan) remaining(now dir.Progress) time.Duration {
	done, took := f.done(now), time.Since(f.begun)
	if done == 0 || done == 1 || took < estimateAfter {
		return 0
	}
	return max(time.Second, time.Duration(float64(took)*(1/done-1)).Round(time.Second))
}

// statusLine has first what matters most, because narrow screens cut the line.
func (f *firstScan) statusLine(now dir.Progress) string {
	total, line := f.total.Load(), "Scanning"
	if f.name != "" {
		line = f.name + ": scanning"
	}
	if done := f.done(now); done > 0 {
		line += fmt.Sprintf(" %d%%", int(100*done))
	}
	if remaining := f.remaining(now); remaining > 0 {
		line += fmt.Sprintf(", about %v left", remaining)
	}
	line += ": " + humanize.Comma(now.Files)
	if total != nil {
		line += " of " + humanize.Comma(total.Files)
	}
	line += " " + f.unit
	switch {
	case total != nil && total.Bytes > 0:
		line += fmt.Sprintf(", %s of %s read", bytesText(now.Bytes), bytesText(total.Bytes))
	case now.Bytes > 0:
		line += fmt.Sprintf(", %s read", bytesText(now.Bytes))
	}
	return line
}

func bytesText(n int64) string { return humanize.Bytes(uint64(max(0, n))) }
