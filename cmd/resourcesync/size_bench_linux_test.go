package main

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkSize measures what a folder of RESOURCESYNC_TEST_FILES small files needs: time,
// CPU time, memory and disk for the first scan, for reading the complete Resource List, and
// for a restart without changes. Run it with -benchtime 1x and TMPDIR on a fast disk.
func BenchmarkSize(b *testing.B) {
	files, _ := strconv.Atoi(cmp.Or(os.Getenv(manyFiles), "10000"))
	folder, state := b.TempDir(), filepath.Join(b.TempDir(), "state.db")
	benchFiles(b, folder, files)
	for _, pass := range []string{"first", "restart"} {
		b.Run(pass, func(b *testing.B) {
			begun := time.Now()
			p := startProcess(b, folder, "--base-url", publicURL, "--state", state, "--rescan", "1h")
			for !strings.Contains(p.stdout.String(), "Ready") {
				time.Sleep(10 * time.Millisecond)
			}
			b.ReportMetric(time.Since(begun).Seconds(), "s/ready")
			b.ReportMetric(p.cpu().Seconds(), "s/ready/cpu")
			b.ReportMetric(float64(p.memory()), "MiB/ready")
			p.list("resourcelist")
			b.ReportMetric(float64(p.memory()), "MiB/read")
			b.ReportMetric(0, "ns/op")
			p.kill()
			var size int64
			names, err := filepath.Glob(state + "*")
			must(b, err)
			for _, name := range names {
				info, err := os.Stat(name)
				must(b, err)
				size += info.Size()
			}
			b.ReportMetric(float64(size)/(1<<20), "MiB/state")
		})
	}
}
