package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
)

// TestD14_ProgressInTheLog scans 600 files in ten minutes without a terminal.
func TestD14_ProgressInTheLog(t *testing.T) {
	for name, test := range map[string]struct {
		count func(context.Context) (int64, int64, error)
		bytes int64 // of each file, read
		want  []string
	}{
		"counted":      {func(context.Context) (int64, int64, error) { return 600, 6000, nil }, 10, []string{"files=60 bytes_read=600 of_files=600 of_bytes=6000 remaining=9m0s", "files=540 bytes_read=5400 of_files=600 of_bytes=6000 remaining=1m0s"}},
		"known before": {func(context.Context) (int64, int64, error) { return 600, 0, nil }, 0, []string{"files=60 of_files=600 remaining=9m0s"}},
		"not known":    {func(context.Context) (int64, int64, error) { return 0, 0, errors.New("no") }, 10, []string{"files=60 bytes_read=600\n"}},
		"counted late": {func(ctx context.Context) (int64, int64, error) { <-ctx.Done(); return 0, 0, ctx.Err() }, 10, []string{"files=60 bytes_read=600\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b bytes.Buffer
				f := &firstScan{screen: terminal.New(&b), log: slog.New(slog.NewTextHandler(&b, nil)), unit: "files", count: test.count}
				end := f.begin(t.Context())
				synctest.Wait()
				for files := range int64(600) {
					time.Sleep(time.Second)
					f.report(dir.Progress{Files: files + 1, Bytes: (files + 1) * test.bytes})
				}
				end()
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
		f := &firstScan{
			screen: screen, log: slog.New(slog.DiscardHandler), unit: "files",
			count: func(context.Context) (int64, int64, error) { return 2000, 400e6, nil },
		}
		end := f.begin(t.Context())
		synctest.Wait()
		time.Sleep(time.Second)
		f.report(dir.Progress{Files: 1, Bytes: 1e6})
		time.Sleep(9 * time.Second)
		f.report(dir.Progress{Files: 10, Bytes: 100e6})
		end()
		want := "Scanning 0%: 1 of 2,000 files, 1.0 MB of 400 MB read" + eraseLine +
			"Scanning 25%, about 30s left: 10 of 2,000 files, 100 MB of 400 MB read" + eraseLine
		if b.String() != want {
			t.Errorf("%q", &b)
		}
	})
}

// TestD14_ToScan counts the files of a publication, before it has ever scanned them
// and after a restart.
func TestD14_ToScan(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.txt"), "four")
	write(t, filepath.Join(folder, "resourcesync/b.txt"), "not published")
	c, err := parseServe([]string{folder, "--state", filepath.Join(t.TempDir(), "state.db"), "--base-url", publicURL})
	must(t, err)
	log := slog.New(slog.DiscardHandler)
	st, err := openState(t.Context(), c, log)
	must(t, err)
	defer st.close()
	p := open(t, c, st, terminal.New(os.Stderr))
	if files, bytes, err := p.toScan(t.Context()); err != nil || files != 1 || bytes != 4 {
		t.Errorf("before: %d files, %d bytes, %v", files, bytes, err)
	}
	must(t, p.scanner.scan(t.Context()))
	if files, bytes, err := p.toScan(t.Context()); err != nil || files != 1 || bytes != 0 {
		t.Errorf("afterwards: %d files, %d bytes, %v", files, bytes, err)
	}
}
