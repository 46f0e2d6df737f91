package daemon

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/scan"
)

// eraseLine is what the program writes to a terminal to remove a status line.
const eraseLine = "\r\x1b[K"

// TestD14_ProgressInTheLog scans 600 files in ten minutes without a terminal.
func TestD14_ProgressInTheLog(t *testing.T) {
	for name, test := range map[string]struct {
		of    *scan.Progress
		bytes int64 // of each file, read
		want  []string
	}{
		"estimated":    {&scan.Progress{Resources: 600, Bytes: 6000}, 10, []string{"files=60 bytes_read=600 of_files=600 of_bytes=6000 remaining=9m0s", "files=540 bytes_read=5400 of_files=600 of_bytes=6000 remaining=1m0s"}},
		"known before": {&scan.Progress{Resources: 600}, 0, []string{"files=60 of_files=600 remaining=9m0s"}},
		"not known":    {nil, 10, []string{"files=60 bytes_read=600\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b bytes.Buffer
				f := &firstScan{screen: terminal.New(&b), log: slog.New(slog.NewTextHandler(&b, nil)), unit: "files"}
				now := scan.FirstScan{Began: time.Now(), Of: test.of}
				for range 600 {
					time.Sleep(time.Second)
					now.Resources++
					now.Bytes += test.bytes
					f.report(now)
				}
				now.Ended = true
				f.report(now)
				if lines := strings.Count(b.String(), "\n"); lines != 10 {
					t.Errorf("%d lines in ten minutes", lines)
				}
				for _, want := range test.want {
					if !strings.Contains(b.String(), want) {
						t.Errorf("without %q:\n%s", want, &b)
					}
				}
			})
		})
	}
}

// TestD14_ProgressOnATerminal shows a line that the next one replaces.
func TestD14_ProgressOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		screen := terminal.New(&b)
		screen.Control = true
		f := &firstScan{screen: screen, log: slog.New(slog.DiscardHandler), unit: "files"}
		now := scan.FirstScan{Began: time.Now(), Of: &scan.Progress{Resources: 2000, Bytes: 400e6}}
		report := func(after time.Duration, files, bytes int64) {
			time.Sleep(after)
			now.Resources, now.Bytes = files, bytes
			f.report(now)
		}
		report(time.Second, 1, 1e6)
		now.Ended = true
		report(9*time.Second, 10, 100e6)
		want := "Scanning 0%: 1 of 2,000 files, 1.0 MB of 400 MB read" + eraseLine +
			"Scanning 25%, about 30s left: 10 of 2,000 files, 100 MB of 400 MB read" + eraseLine
		if b.String() != want {
			t.Errorf("%q", &b)
		}
	})
}
