package disk

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestMeasure compares the size of file systems with the output of df.
func TestMeasure(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("df has other flags")
	}
	file := filepath.Join(t.TempDir(), "state.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Dir(file), "/"} {
		out, err := exec.Command("df", "-B1", "--output=size", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		free, total, err := measure(path)
		if fields := strings.Fields(string(out)); err != nil || fmt.Sprint(total) != fields[len(fields)-1] || free > total || free == 0 {
			t.Errorf("%s: %d of %d bytes are free, %v; df says\n%s", path, free, total, err, out)
		}
	}
}

// TestMetrics: metrics that cannot be measured are absent.
func TestMetrics(t *testing.T) {
	m := New(func() []Place {
		return []Place{{"state", "", t.TempDir()}, {"copy", "library", t.TempDir()}, {"copy", "gone", filepath.Join(t.TempDir(), "none")}}
	})
	if n := testutil.CollectAndCount(m); n != 4 {
		t.Errorf("%d metrics", n)
	}
	if problems, err := testutil.CollectAndLint(m); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

// TestDeadDisk: a file system that does not answer delays one scrape by two seconds, and no others.
// Its metrics are absent until it answers.
func TestDeadDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(func() []Place {
			return []Place{{"state", "", "/dead"}, {"copy", "library", "/dead"}, {"copy", "museum", "/alive"}}
		})
		answers, measured := make(chan struct{}), make(chan string, 100)
		m.measure = func(path string) (free, total uint64, err error) {
			measured <- path
			if path == "/dead" {
				<-answers
			}
			return 1, 2, nil
		}
		scrape := func(metrics int, takes time.Duration) {
			t.Helper()
			began := time.Now()
			if n := testutil.CollectAndCount(m); n != metrics || time.Since(began) != takes {
				t.Errorf("%d metrics after %v, want %d after %v", n, time.Since(began), metrics, takes)
			}
		}
		go scrape(2, patience) // two servers scrape at the same time
		scrape(2, patience)
		synctest.Wait()
		for range 10 {
			time.Sleep(time.Minute)
			scrape(2, 0)
		}
		dead := 0
		for len(measured) > 0 {
			if <-measured == "/dead" {
				dead++
			}
		}
		if dead != 1 {
			t.Errorf("%d measurements of the same dead disk", dead)
		}
		close(answers)
		synctest.Wait()
		scrape(6, 0)
	})
}
