package sitemap_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/scan"
)

const (
	// urlsVariable names the variable with the number of URLs that the benchmarks scan.
	urlsVariable = "RESOURCESYNC_BENCH_URLS"

	// maxRequested is the number of pages that a benchmark requests.
	maxRequested = 20_000

	// maxMemory is the maximum memory, in MiB, for a scan of any number of URLs.
	maxMemory = 200
)

// BenchmarkScan scans a generated website for the first time, and again when nothing
// has changed, which requests only its sitemaps. The website is a process of its own,
// so the peak memory includes only the scanner and its store.
func BenchmarkScan(b *testing.B) {
	n := 20_000
	if text := os.Getenv(urlsVariable); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatalf("%s: %v", urlsVariable, err)
		}
	}
	b.Run("none", func(b *testing.B) { benchScan(b, sitemap.VerifyNone, n) })
	b.Run("get", func(b *testing.B) { benchScan(b, sitemap.VerifyGet, min(n, maxRequested)) })
}

func benchScan(b *testing.B, verify sitemap.Verify, n int) {
	address, requests := startGenerator(b, n)
	var took [2]time.Duration
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak is measured from here
	for b.Loop() {
		folder := b.TempDir()
		log := slog.New(slog.DiscardHandler)
		store, err := sqlitestore.OpenFile(b.Context(), filepath.Join(folder, "state.db"), &sqlstore.Options{Logger: log})
		if err != nil {
			b.Fatal(err)
		}
		set, err := store.Set(b.Context(), "pages", &scan.SetOptions{AwaitScan: true})
		if err != nil {
			b.Fatal(err)
		}
		site, err := sitemap.New(base, &sitemap.Options{
			Upstream: "http://" + address, Verify: verify, Rate: 1e6, Concurrency: 8,
			Folder: filepath.Join(folder, "sitemaps"), Logger: log,
		})
		if err != nil {
			b.Fatal(err)
		}
		err = site.Bind(b.Context(), set, func(ctx context.Context, purpose string) (scan.Stored, error) {
			return store.Set(ctx, purpose+" pages", nil)
		})
		if err != nil {
			b.Fatal(err)
		}
		for i, want := range []resourcesync.ScanResult{{Created: n}, {Unchanged: n}} {
			requests()
			began := time.Now()
			result, err := set.Scan(b.Context(), site.Resources(b.Context()))
			if err != nil || result != want {
				b.Fatalf("scan %d: %+v, %v", i+1, result, err)
			}
			took[i] += time.Since(began)
		}
		if got, sitemaps := requests(), 2+children(n); got != sitemaps {
			b.Errorf("an unchanged scan made %d requests, expected %d: robots.txt and each sitemap", got, sitemaps)
		}
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
	}
	peak := peakMemory(b)
	if peak > maxMemory {
		b.Errorf("the process needed %.0f MiB, of %d at most", peak, maxMemory)
	}
	total := float64(n) * float64(b.N)
	b.ReportMetric(total/took[0].Seconds(), "first-URLs/s")
	b.ReportMetric(total/took[1].Seconds(), "again-URLs/s")
	b.ReportMetric(float64(2+children(n)), "again-requests")
	b.ReportMetric(peak, "peak-MiB")
}

// peakMemory returns the peak memory of this process in MiB, or 0 if the system does
// not report it.
func peakMemory(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}

// startGenerator starts a process that serves a website of n pages. requests returns
// the number of requests that it has answered since the last call.
func startGenerator(b *testing.B, n int) (address string, requests func() int) {
	generator := exec.Command(os.Args[0])
	generator.Env = append(os.Environ(), generatorVariable+"="+strconv.Itoa(n))
	generator.Stderr = os.Stderr
	in, err := generator.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := generator.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := generator.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close() // tells it to end
		_ = generator.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	address = strings.TrimSpace(line)
	return address, func() int {
		res, err := http.Get("http://" + address + countPath)
		if err != nil {
			b.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			b.Fatal(err)
		}
		count, err := strconv.Atoi(string(text))
		if err != nil {
			b.Fatal(err)
		}
		return count
	}
}
