package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A crowd is a process that serves many files, and its attackers.
type crowd struct {
	*process
	files int
}

// startCrowd serves a folder of many files.
func startCrowd(t *testing.T, folder string, flags ...string) *crowd {
	t.Helper()
	c := &crowd{files: needs.Size(2_500, 10_000)}
	if n, err := strconv.Atoi(os.Getenv(manyFiles)); err == nil {
		c.files = n
	}
	for i := range c.files {
		path := filepath.Join(folder, fileName(i))
		if i%1000 == 0 {
			must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		}
		if _, err := os.Stat(path); err == nil {
			break // a process before this one has served the folder
		}
		must(t, os.WriteFile(path, []byte(fmt.Sprint(i)), 0o644))
	}
	c.process = startProcess(t, folder, flags...)
	c.stdout.await("Ready")
	return c
}

// fileName returns the name of the i-th file, in the order of keys.
func fileName(i int) string {
	return fmt.Sprintf("collection-%03d/the-file-with-the-number-%06d.txt", i/1000, i)
}

// unlisted returns the path of a range with the last n files, which no document links
// to.
func (c *crowd) unlisted(kind, ending string, n int) string {
	return "/resourcesync/" + kind + "/" + base64.RawURLEncoding.EncodeToString([]byte(fileName(c.files-n)+"!")) + "~" + ending
}

// memory returns the peak resident memory of the process, in MiB.
func (p *process) memory() int {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	must(p.t, err)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	must(p.t, err)
	return kib >> 10
}

// maxMemory is the maximum memory of a process under attack, in MiB: the budgets of
// documents (32 MiB) and of package layouts (128 MiB), and more than half as much for
// the program itself and for garbage. The attacks took gigabytes.
const maxMemory = 300

// checkMemory fails if the process has taken more than maxMemory.
func (p *process) checkMemory() {
	p.t.Helper()
	most := p.memory()
	p.t.Logf("the process has taken %d MiB at most", most)
	// The memory of the race detector grows with the time that requests wait.
	if most > maxMemory && !raceEnabled {
		p.t.Errorf("the process has taken %d MiB, must stay under %d", most, maxMemory)
	}
}

// ask sends a request from an address of this computer, and returns the status and the
// number of bytes received.
func (c *crowd) ask(ctx context.Context, from, method, url string) (status int, n int64, err error) {
	client := http.Client{Timeout: needs.Patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext,
	}}
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return 0, 0, err
	}
	res, err := client.Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer res.Body.Close()
	n, err = io.Copy(io.Discard, res.Body)
	if err == nil && method == http.MethodGet && res.ContentLength >= 0 && n != res.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	return res.StatusCode, n, err
}

// TestD16_UnlistedPackagesKeepToBudget has 64 connections that each request a package
// of a range of their own and never read it, and 8 that walk through such ranges with
// HEAD. Memory stays bounded, and the packages of the dump are served.
func TestD16_UnlistedPackagesKeepToBudget(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	folder := t.TempDir()
	for _, flags := range [][]string{{"--package-size", "1GiB"}, nil}[:needs.Size(1, 2)] {
		c := startCrowd(t, folder, flags...)
		dump := c.document(c.capabilities()["resourcedump"], "resourcedump").Entries
		for i := range 64 {
			conn := c.dial(fmt.Sprintf("127.0.0.%d", 2+i%8))
			path := c.unlisted("resourcedump", ".zip", (i+1)*c.files/100)
			if flags == nil {
				path = c.unlisted("resourcedump", ".zip", 1900-i)
			}
			_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, c.host())
			must(t, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(needs.Size(500, 4000))*time.Millisecond)
		var (
			all      sync.WaitGroup
			statuses sync.Map
			packages int
		)
		for i := range 8 {
			all.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					path := c.unlisted("resourcedump", ".zip", 1000+(n*8+i)%1000)
					status, _, _ := c.ask(ctx, fmt.Sprintf("127.0.1.%d", 1+i), http.MethodHead, c.site[:len(c.site)-1]+path)
					count, _ := statuses.LoadOrStore(status, new(atomic.Int64))
					count.(*atomic.Int64).Add(1)
				}
			})
		}
		for ctx.Err() == nil {
			for _, e := range dump {
				if status, n, err := c.ask(t.Context(), "127.0.0.1", http.MethodGet, e.Loc); status != http.StatusOK || err != nil {
					t.Fatalf("a package of the dump: %d, %d bytes, %v", status, n, err)
				}
				packages++
			}
		}
		cancel()
		all.Wait()
		t.Logf("%d files, %v: %d listed packages fetched beside", c.files, flags, packages)
		statuses.Range(func(status, count any) bool {
			t.Logf("HEAD of unlisted packages: %d times %d", count.(*atomic.Int64).Load(), status)
			return true
		})
		c.checkMemory()
		c.kill()
	}
}

// TestD19_UnlistedRangesRefusedFirst has 16 attackers request unlisted ranges of most
// of the set and hang up after 10 ms, and 48 others that request such ranges and wait.
// They are refused. Requests for listed documents and packages, which change all the
// time, never are.
func TestD19_UnlistedRangesRefusedFirst(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	c := startCrowd(t, t.TempDir(), "--rescan", "1s", "--status", "127.0.0.1:0")
	capabilities := c.capabilities()
	dump := c.document(capabilities["resourcedump"], "resourcedump").Entries
	ctx, cancel := context.WithCancel(t.Context())
	var (
		attack            sync.WaitGroup
		answered, refused atomic.Int64
	)
	defer attack.Wait()
	defer cancel()
	for i := range 64 {
		hangsUp := i < 16
		attack.Go(func() {
			for n := i; ctx.Err() == nil; n += 64 { // no range is asked for twice
				status, err := c.attack(ctx, n, hangsUp)
				switch {
				case err != nil:
				case status == http.StatusServiceUnavailable:
					refused.Add(1)
					time.Sleep(20 * time.Millisecond)
				default:
					answered.Add(1)
				}
			}
		})
	}
	var longest time.Duration
	asked := 0
	for end := time.Now().Add(time.Duration(needs.Size(1, 6)) * time.Second); time.Now().Before(end) || refused.Load() == 0 && time.Now().Before(end.Add(needs.Patience)); {
		c.write(fileName(asked%c.files), fmt.Sprint("changed ", asked))
		for method, url := range map[string]string{
			http.MethodGet:  capabilities["resourcelist"],
			http.MethodHead: dump[asked%len(dump)].Loc,
		} {
			begun := time.Now()
			status, _, err := c.ask(t.Context(), "127.0.0.1", method, url)
			if status != http.StatusOK || err != nil {
				t.Fatalf("%s %s: %d, %v", method, url, status, err)
			}
			longest = max(longest, time.Since(begun))
			asked++
		}
	}
	cancel()
	attack.Wait()
	_, now := c.toldOperators()
	t.Logf("%d requests for what is listed were answered, the slowest after %v; of those for what is not, %d were answered and %d refused",
		asked, longest, answered.Load(), refused.Load())
	if answered.Load() == 0 || refused.Load() == 0 || now.Source.Refused < uint64(refused.Load()) {
		t.Errorf("of the adversaries' requests %d were answered and %d refused; status counts %d", answered.Load(), refused.Load(), now.Source.Refused)
	}
	if len(dump) < 2 || now.Source.Rendered == 0 {
		t.Errorf("%d packages, %d documents rendered", len(dump), now.Source.Rendered)
	}
	c.checkMemory()
}

// attack requests the n-th of many unlisted ranges: a page of most of the set, or a
// package. The client hangs up after 10 ms, or waits for the response.
func (c *crowd) attack(ctx context.Context, n int, hangsUp bool) (status int, err error) {
	kind, ending, of := "resourcelist", ".xml", c.files-n%1000
	if n%4 == 0 {
		kind, ending, of = "resourcedump", ".zip", 1000+n%1000
	}
	first := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s!%d", fileName(c.files-of), n))
	from := fmt.Sprintf("127.0.%d.2", n%64)
	if hangsUp {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 10*time.Millisecond)
		defer cancel()
	}
	status, _, err = c.ask(ctx, from, http.MethodGet, c.site[:len(c.site)-1]+"/resourcesync/"+kind+"/"+first+"~"+ending)
	return status, err
}
