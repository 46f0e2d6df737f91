package main

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkParts measures the cost of a change of one file in a folder of
// RESOURCESYNC_TEST_FILES files, and of 20,000 new files. Run it with -benchtime 1x and
// TMPDIR on a fast disk.
func BenchmarkParts(b *testing.B) {
	files, _ := strconv.Atoi(cmp.Or(os.Getenv(manyFiles), "10000"))
	folder, burst := b.TempDir(), b.TempDir()
	benchFiles(b, folder, files)
	benchFiles(b, burst, 20_000)
	p := startProcess(b, folder, "--base-url", publicURL, "--state", filepath.Join(b.TempDir(), "state.db"), "--rescan", "1h")
	for !strings.Contains(p.stdout.String(), "Ready") {
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(3 * time.Second) // the set is divided
	i := 0
	edit := func() {
		i++
		write(b, filepath.Join(folder, benchName(i*7919%files)), fmt.Sprint("edit ", i))
	}
	b.Run("edit", func(b *testing.B) {
		var took []time.Duration
		for range 50 {
			etag := p.changeList(b, "")
			begun := time.Now()
			edit()
			for p.changeList(b, etag) == etag {
				time.Sleep(time.Millisecond)
			}
			took = append(took, time.Since(begun))
			time.Sleep(200 * time.Millisecond)
		}
		slices.Sort(took)
		b.ReportMetric(took[len(took)/2].Seconds()*1e3, "ms/median")
		b.ReportMetric(took[len(took)-1].Seconds()*1e3, "ms/worst")
		b.ReportMetric(0, "ns/op")
	})
	b.Run("cpu", func(b *testing.B) {
		const seconds = 20
		measure := func(each func()) float64 {
			before := p.cpu()
			for range seconds {
				each()
				time.Sleep(time.Second)
			}
			return (p.cpu() - before).Seconds() / seconds * 100
		}
		b.ReportMetric(measure(func() {}), "%idle")
		b.ReportMetric(measure(edit), "%edits")
		b.ReportMetric(0, "ns/op")
	})
	b.Run("burst", func(b *testing.B) {
		before, logBefore := len(p.list("changelist")), len(p.stderr.String())
		begun := time.Now()
		must(b, exec.Command("cp", "-r", burst, filepath.Join(folder, "burst")).Run())
		copied := time.Since(begun)
		// The log shows when all are listed. Reading a long list repeatedly would take
		// more time than the measured work.
		for created := 0; created < 20_000; time.Sleep(10 * time.Millisecond) {
			created = 0
			for _, found := range logged.FindAllStringSubmatch(p.stderr.String()[logBefore:], -1) {
				n, _ := strconv.Atoi(found[1])
				created += n
			}
		}
		listed := time.Since(begun)
		if got := len(p.list("changelist")); got < before+20_000 {
			b.Errorf("%d changes are listed, want %d more than %d", got, 20_000, before)
		}
		b.ReportMetric(copied.Seconds(), "s/cp")
		b.ReportMetric(listed.Seconds(), "s/listed")
		b.ReportMetric(0, "ns/op")
	})
	p.kill()
}

var logged = regexp.MustCompile(`changes found" created=(\d+)`)

func benchName(i int) string { return fmt.Sprintf("%d/%d/%d.txt", i%10, i/10%100, i) }

// benchFiles writes n small files into up to 1,000 folders below root.
func benchFiles(b *testing.B, root string, n int) {
	for i := range min(n, 1000) {
		must(b, os.MkdirAll(filepath.Dir(filepath.Join(root, benchName(i))), 0o755))
	}
	for i := range n {
		must(b, os.WriteFile(filepath.Join(root, benchName(i)), fmt.Append(nil, "file ", i, strings.Repeat(" text", 20)), 0o644))
	}
}

// changeList returns the entity tag of the Change List; etag is a known one.
func (p *process) changeList(b *testing.B, etag string) string {
	r, err := http.NewRequestWithContext(b.Context(), http.MethodHead, p.site+"resourcesync/changelist.xml", nil)
	must(b, err)
	r.Header.Set("If-None-Match", etag)
	res, err := http.DefaultClient.Do(r)
	must(b, err)
	res.Body.Close()
	return res.Header.Get("Etag")
}

// cpu returns the time that the process has used of all cores.
func (p *process) cpu() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
	must(p.t, err)
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}
