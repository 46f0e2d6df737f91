package main

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// BenchmarkBuild measures builds of a folder of RESOURCESYNC_TEST_FILES small files: the first
// one, one without changes, and one after a change. Run it with -benchtime 1x and TMPDIR on a
// fast disk.
func BenchmarkBuild(b *testing.B) {
	files, err := strconv.Atoi(cmp.Or(os.Getenv(manyFiles), "10000"))
	must(b, err)
	program, err := os.Executable()
	must(b, err)
	folder, out, state := b.TempDir(), b.TempDir(), filepath.Join(b.TempDir(), "state.db")
	benchFiles(b, folder, files)
	for _, pass := range []string{"first", "unchanged", "changed"} {
		if pass == "changed" {
			name := ""
			must(b, filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
				if err == nil && e.Type().IsRegular() {
					name = path
					err = filepath.SkipAll
				}
				return err
			}))
			must(b, os.WriteFile(name, []byte("changed"), 0o644))
			at := time.Now().Add(-time.Hour)
			must(b, os.Chtimes(name, at, at))
		}
		b.Run(pass, func(b *testing.B) {
			cmd := exec.CommandContext(b.Context(), program, "build", folder, "--out", out, "--base-url", publicURL, "--state", state, "--json")
			cmd.Env = append(os.Environ(), beMain+"=1")
			cmd.Stderr = os.Stderr
			text, err := cmd.Output()
			must(b, err)
			var result struct {
				Written []string
				Scan    float64 `json:"scan_seconds"`
				Write   float64 `json:"write_seconds"`
			}
			must(b, json.Unmarshal(text, &result))
			if pass != "first" {
				b.Logf("%q", result.Written)
			}
			b.ReportMetric(float64(len(result.Written)), "files")
			b.ReportMetric(result.Scan, "s/scan")
			b.ReportMetric(result.Write, "s/write")
			b.ReportMetric(float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1024, "MiB")
			b.ReportMetric(0, "ns/op")
		})
	}
}
