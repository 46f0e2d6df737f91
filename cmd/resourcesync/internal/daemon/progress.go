package daemon

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/scan"
)

// estimateAfter is the duration of a scan after which the remaining time is estimated.
const estimateAfter = 5 * time.Second

// A firstScan reports the progress of the first scan of a process: on a terminal
// continuously, otherwise once a minute in the log.
type firstScan struct {
	screen *terminal.Screen
	log    *slog.Logger
	name   string // of the set; "" if it is alone
	unit   string // files or pages
	logged time.Time
}

func (f *firstScan) report(now scan.FirstScan) {
	if f.screen.Control {
		f.screen.Status(f.statusLine(now))
	}
	if now.Ended {
		f.screen.Status("")
		f.logged = time.Time{}
	}
	if f.screen.Control || now.Ended {
		return
	}
	if f.logged.IsZero() {
		f.logged = now.Began
	}
	if time.Since(f.logged) < terminal.LogEvery {
		return
	}
	f.logged = time.Now()
	attrs := []any{f.unit, now.Resources}
	if now.Bytes > 0 || now.Of != nil && now.Of.Bytes > 0 {
		attrs = append(attrs, "bytes_read", now.Bytes)
	}
	if now.Of != nil {
		attrs = append(attrs, "of_"+f.unit, now.Of.Resources)
		if now.Of.Bytes > 0 {
			attrs = append(attrs, "of_bytes", now.Of.Bytes)
		}
	}
	if remaining := remaining(now); remaining > 0 {
		attrs = append(attrs, "remaining", remaining.String())
	}
	f.log.Info("scanning", attrs...)
}

// done returns the completed part of the scan, from 0 to 1. Zero means unknown.
func done(now scan.FirstScan) float64 {
	if now.Of == nil {
		return 0
	}
	done, of := now.Resources, now.Of.Resources
	if now.Bytes > 0 && now.Of.Bytes > 0 { // reading takes most of the time
		done, of = now.Bytes, now.Of.Bytes
	}
	if of <= 0 {
		return 0
	}
	return min(1, float64(done)/float64(of))
}

// remaining estimates the time until the scan ends. Zero means unknown.
func remaining(now scan.FirstScan) time.Duration {
	done, took := done(now), time.Since(now.Began)
	if done == 0 || done == 1 || took < estimateAfter {
		return 0
	}
	return max(time.Second, time.Duration(float64(took)*(1/done-1)).Round(time.Second))
}

// statusLine begins with the most important part, because narrow screens cut the line.
func (f *firstScan) statusLine(now scan.FirstScan) string {
	total, line := now.Of, "Scanning"
	if f.name != "" {
		line = f.name + ": scanning"
	}
	if done := done(now); done > 0 {
		line += fmt.Sprintf(" %d%%", int(100*done))
	}
	if remaining := remaining(now); remaining > 0 {
		line += fmt.Sprintf(", about %v left", remaining)
	}
	line += ": " + humanize.Comma(now.Resources)
	if total != nil {
		line += " of " + humanize.Comma(total.Resources)
	}
	line += " " + f.unit
	switch {
	case total != nil && total.Bytes > 0:
		line += fmt.Sprintf(", %s of %s read", terminal.Bytes(now.Bytes), terminal.Bytes(total.Bytes))
	case now.Bytes > 0:
		line += fmt.Sprintf(", %s read", terminal.Bytes(now.Bytes))
	}
	return line
}
