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
)

// manyFiles is how many files the folder has that adversaries ask for. Set it to
// 40000 for the measure of the report that the tests are about.
const manyFiles = "RESOURCESYNC_TEST_FILES"

// A crowd is a process that serves many files, and the adversaries around it.
type crowd struct {
	*process
	files int
}

// startCrowd serves a folder of many files.
func startCrowd(t *testing.T, folder string, flags ...string) *crowd {
	t.Helper()
	c := &crowd{files: 10_000}
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

// unlisted returns the path of a range of keys that no document leads to: of the last
// n files.
func (c *crowd) unlisted(kind, ending string, n int) string {
	return "/resourcesync/" + kind + "/" + base64.RawURLEncoding.EncodeToString([]byte(fileName(c.files-n)+"!")) + "~" + ending
}

// memory returns the most memory that the process has had resident, in MiB.
func (c *crowd) memory() int {
	c.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
	must(c.t, err)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	must(c.t, err)
	return kib >> 10
}

// ask sends a request from an address of this computer, and returns the status and
// how many bytes came.
func (c *crowd) ask(ctx context.Context, from, method, url string) (status int, n int64, err error) {
	client := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
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

// TestD16_UnlistedPackagesKeepToBudget has 64 connections that ask for a package of a
// range of their own and never read it, and 8 that go through such ranges with HEAD.
// Memory stays bounded, and the packages of the dump are served.
func TestD16_UnlistedPackagesKeepToBudget(t *testing.T) {
	const bound = 300 // MiB, for all that the process takes
	folder := t.TempDir()
	for _, flags := range [][]string{{"--package-size", "1GiB"}, nil} {
		c := startCrowd(t, folder, flags...)
		dump := c.document(c.capabilities()["resourcedump"], "resourcedump").Entries
		before := c.memory()
		for i := range 64 {
			conn := c.dial(fmt.Sprintf("127.0.0.%d", 2+i%8))
			path := c.unlisted("resourcedump", ".zip", (i+1)*c.files/100)
			if flags == nil {
				path = c.unlisted("resourcedump", ".zip", 1900-i)
			}
			_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, c.host())
			must(t, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
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
		after := c.memory()
		t.Logf("%d files, %v: %d MiB before, %d MiB at most; %d listed packages fetched beside", c.files, flags, before, after, packages)
		statuses.Range(func(status, count any) bool {
			t.Logf("HEAD of unlisted packages: %d times %d", count.(*atomic.Int64).Load(), status)
			return true
		})
		if after > bound {
			t.Errorf("%v: %d MiB, must stay under %d", flags, after, bound)
		}
		c.kill()
	}
}

// TestD19_UnlistedRangesRefusedFirst has an adversary ask for 100 unlisted ranges a
// second, and hang up after 10 ms each time. Whoever asks for what is listed, which
// changes all the time, is never refused.
func TestD19_UnlistedRangesRefusedFirst(t *testing.T) {
	c := startCrowd(t, t.TempDir(), "--rescan", "1s")
	capabilities := c.capabilities()
	dump := c.document(capabilities["resourcedump"], "resourcedump").Entries
	ctx, cancel := context.WithCancel(t.Context())
	var attack sync.WaitGroup
	defer attack.Wait()
	defer cancel()
	attack.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			path := c.unlisted("resourcelist", ".xml", c.files-1-n%1000)
			if n%4 == 0 {
				path = c.unlisted("resourcedump", ".zip", 1000+n%1000)
			}
			attack.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
				defer cancel()
				_, _, _ = c.ask(ctx, "127.0.0.2", http.MethodGet, c.site[:len(c.site)-1]+path)
			})
			time.Sleep(10 * time.Millisecond)
		}
	})
	var longest time.Duration
	asked := 0
	for end := time.Now().Add(6 * time.Second); time.Now().Before(end); {
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
	t.Logf("%d requests were answered, the slowest after %v", asked, longest)
}
