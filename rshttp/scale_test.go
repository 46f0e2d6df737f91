package rshttp_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// numbers is a set of that many resources that exist only while they are read.
type numbers int

const digits = 9

var numberHashes = []resourcesync.Hash{
	{Algorithm: "md5", Digest: "1584abdf8ebdc9802ac0c6a7402c03b6"},
	{Algorithm: "sha-256", Digest: "854f61290e2e197a11bc91063afce22e43f8ccc655237050ace766adc68dc784"},
}

func (n numbers) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for i := n.first(r.From); i < int(n); i++ {
			res := n.at(i)
			if !r.Contains(res.Key) || !yield(res, nil) {
				return
			}
			if i%1000 == 0 && ctx.Err() != nil {
				yield(resourcesync.Resource{}, ctx.Err())
				return
			}
		}
	}
}

// first returns the first number whose key is not less than from.
func (n numbers) first(from string) int {
	i, _ := strconv.Atoi((from + strings.Repeat("0", digits))[:digits])
	if n.at(i).Key < from {
		i++
	}
	return i
}

func (numbers) at(i int) resourcesync.Resource {
	uri := fmt.Appendf(nil, "https://example.org/repository/objects/%09d", i)
	return resourcesync.Resource{
		Key:          string(uri[len(uri)-digits:]),
		URI:          string(uri),
		LastModified: newYear,
		Length:       resourcesync.Bytes(int64(i)),
		Type:         "application/pdf",
		Hashes:       numberHashes,
	}
}

func (n numbers) Cuts(_ context.Context, _ []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	var cuts []resourcesync.Cut
	for i := every; i < int(n); i += every {
		cuts = append(cuts, resourcesync.Cut{Key: fmt.Sprintf("%09d", i), Count: every, Newest: newYear})
	}
	return append(cuts, resourcesync.Cut{Newest: newYear}), nil
}

func (n numbers) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return resourcesync.Stat{Count: int64(n), LastModified: newYear, Version: "1"}, nil
}

// crawlPages has 16 clients fetch all pages of n resources from a real server, and
// returns the peak resident memory of the process in MiB.
func crawlPages(t testing.TB, n numbers) (mib int) {
	t.Helper()
	src := newSource(t, nil, rshttp.Set{Provider: n})
	srv := httptest.NewServer(src)
	defer srv.Close()
	_, entries, err := rsxml.Decode(get(t, src, "/resourcesync/resourcelist.xml").Body)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	var g errgroup.Group
	g.SetLimit(16)
	for _, e := range entries {
		g.Go(func() error {
			for {
				res, err := client.Get(srv.URL + strings.TrimPrefix(e.Loc, "https://example.org"))
				if err != nil {
					return err
				}
				read, err := io.Copy(io.Discard, res.Body)
				res.Body.Close()
				switch {
				case res.StatusCode == http.StatusServiceUnavailable:
					continue
				case res.StatusCode != 200 || err != nil || read < 1_000_000:
					return fmt.Errorf("%s: %s, %d bytes, %v", e.Loc, res.Status, read, err)
				}
				return nil
			}
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return peakMemory(t)
}

// peakMemory returns the peak resident memory of the process in MiB.
func peakMemory(t testing.TB) (mib int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc to read resident memory from")
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(peak)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}

// TestMemory crawls a million resources in a process of its own, whose memory must not
// depend on their number.
func TestMemory(t *testing.T) {
	needs.Time(t)
	const bound = 200
	if os.Getenv("RSHTTP_TEST_MEMORY") != "" {
		mib := crawlPages(t, 1_000_000)
		t.Logf("peak resident memory: %d MiB", mib)
		if mib >= bound {
			t.Errorf("resident memory %d MiB, must stay under %d", mib, bound)
		}
		return
	}
	if raceEnabled {
		t.Skip("the race detector takes memory of its own; the test runs without it")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestMemory$", "-test.count=1")
	cmd.Env = append(os.Environ(), "RSHTTP_TEST_MEMORY=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// BenchmarkCrawl10M crawls ten million resources. Run it alone and once:
//
//	go test -run '^$' -bench Crawl10M -benchtime 1x ./rshttp
func BenchmarkCrawl10M(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(crawlPages(b, 10_000_000)), "MiB-peak")
	}
}

// BenchmarkColdPage renders the first and the last page of ten million resources in
// turn and reports the ratio of the last to the first.
func BenchmarkColdPage(b *testing.B) {
	src := newSource(b, &rshttp.Options{Limits: rshttp.Limits{CacheBytes: -1}}, rshttp.Set{Provider: numbers(10_000_000)})
	_, entries, err := rsxml.Decode(get(b, src, "/resourcesync/resourcelist.xml").Body)
	if err != nil {
		b.Fatal(err)
	}
	path := func(i int) string { return strings.TrimPrefix(entries[i].Loc, "https://example.org") }
	compare(b, "last/first", func() { render(b, src, path(len(entries)-1)) }, func() { render(b, src, path(0)) })
}

func render(b *testing.B, h http.Handler, path string) {
	if res := get(b, h, path, "Accept-Encoding", "gzip"); res.StatusCode != 200 {
		b.Fatal(res.Status)
	}
}
