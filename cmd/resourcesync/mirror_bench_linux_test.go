package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// python is Debian's Python, whose libraries are in the packages python3-defusedxml and
// python3-dateutil.
const python = "/usr/bin/python3"

// BenchmarkMirror measures the copy of RESOURCESYNC_TEST_FILES small files of a Source that
// another process serves: the baseline by lists and by dumps, an update without changes, and
// the audit; and the baseline and audit of a program that makes the requests and calls of the
// reference client. Run it with -benchtime 1x and TMPDIR on a fast disk.
func BenchmarkMirror(b *testing.B) {
	files, _ := strconv.Atoi(cmp.Or(os.Getenv(manyFiles), "1000"))
	folder := b.TempDir()
	benchFiles(b, folder, files)
	p := startProcess(b, folder, "--state", filepath.Join(b.TempDir(), "state.db"), "--rescan", "1h")
	for !strings.Contains(p.stdout.String(), "Ready") {
		time.Sleep(10 * time.Millisecond)
	}
	program, err := os.Executable()
	must(b, err)
	lists, dumps, sequential := filepath.Join(b.TempDir(), "lists"), filepath.Join(b.TempDir(), "dumps"), b.TempDir()
	for _, step := range []struct {
		name string
		args []string
	}{
		{"lists", []string{program, "mirror", p.site, lists, "--use-dumps", "never"}},
		{"dumps", []string{program, "mirror", p.site, dumps}},
		{"unchanged", []string{program, "mirror", p.site, dumps}},
		{"audit", []string{program, "mirror", p.site, dumps, "--audit"}},
		{"python", []string{python, "testdata/sequential.py", "baseline", p.site, sequential, "sha-256"}},
		{"python audit", []string{python, "testdata/sequential.py", "audit", p.site, sequential, "sha-256"}},
		{"python audit without digests", []string{python, "testdata/sequential.py", "audit", p.site, sequential}},
	} {
		b.Run(step.name, func(b *testing.B) {
			if step.args[0] == python && os.Getenv("CI") == "" && exec.Command(python, "-c", "import dateutil, defusedxml").Run() != nil {
				b.Skip("install python3-defusedxml and python3-dateutil")
			}
			c := exec.CommandContext(b.Context(), step.args[0], step.args[1:]...)
			c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.TempDir(), beMain + "=1"}
			begun := time.Now()
			if out, err := c.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			b.ReportMetric(time.Since(begun).Seconds(), "s")
			b.ReportMetric((c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(), "s/cpu")
			b.ReportMetric(float64(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1024, "MiB")
			b.ReportMetric(0, "ns/op")
		})
	}
}
