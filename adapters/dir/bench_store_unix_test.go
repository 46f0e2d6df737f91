//go:build unix

package dir_test

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/scan"
)

// BenchmarkStore scans RESOURCESYNC_TEST_FILES small files into SQLite, and scans them again
// when nothing has changed. Each is compared, in time and CPU time, with programs that read
// the same: sha256sum, and find. Run it with -benchtime 1x and TMPDIR on a fast disk.
func BenchmarkStore(b *testing.B) {
	files, _ := strconv.Atoi(cmp.Or(os.Getenv("RESOURCESYNC_TEST_FILES"), "10000"))
	root := filepath.Join(b.TempDir(), "files")
	for i := range files {
		path := filepath.Join(root, fmt.Sprint(i%10), fmt.Sprint(i/10%100), fmt.Sprint(i, ".txt"))
		if i < 1000 {
			must(b, os.MkdirAll(filepath.Dir(path), 0o755))
		}
		must(b, os.WriteFile(path, fmt.Append(nil, "file ", i, strings.Repeat(" text", 20)), 0o644))
	}
	run := func(command string) func() {
		return func() {
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir, cmd.Stdout = root, io.Discard
			must(b, cmd.Run())
		}
	}
	store, err := sqlitestore.OpenFile(b.Context(), filepath.Join(b.TempDir(), "state.db"), nil)
	must(b, err)
	defer store.Close()
	d, err := dir.Open(root, "https://example.org/", nil)
	must(b, err)
	defer d.Close()
	set, err := scan.Into(b.Context(), store, "files", d, nil)
	must(b, err)
	update := func() {
		_, err := set.Update(b.Context())
		must(b, err)
	}
	b.Run("first", func(b *testing.B) {
		compare(b, files, update, run("find . -type f -print0 | xargs -0 -P2 -n 500 sha256sum"))
	})
	b.Run("unchanged", func(b *testing.B) {
		compare(b, files, update, run(`find . -type f -printf '%s %T@\n'`))
	})
}

// compare reports the cost of scan, and its ratio to other.
func compare(b *testing.B, files int, scan, other func()) {
	ours := measure(scan)
	theirs := measure(other)
	per := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(files) }
	b.ReportMetric(per(ours.wall), "µs/file")
	b.ReportMetric(per(ours.cpu), "µs-cpu/file")
	b.ReportMetric(ours.wall.Seconds()/theirs.wall.Seconds(), "x-time")
	b.ReportMetric(ours.cpu.Seconds()/theirs.cpu.Seconds(), "x-cpu")
	b.ReportMetric(0, "ns/op")
}

type cost struct{ wall, cpu time.Duration }

func measure(f func()) cost {
	used := func() (d time.Duration) {
		for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
			var u syscall.Rusage
			if syscall.Getrusage(who, &u) == nil {
				d += time.Duration(u.Utime.Nano() + u.Stime.Nano())
			}
		}
		return d
	}
	begun, before := time.Now(), used()
	f()
	return cost{time.Since(begun), used() - before}
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
