package rshttp_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/leaktest"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// openFiles returns the files below dir that the process has open.
func openFiles(t testing.TB, dir string) (files []string) {
	t.Helper()
	const open = "/proc/self/fd"
	all, err := os.ReadDir(open)
	if err != nil {
		t.Skip("no /proc to see open files in")
	}
	for _, e := range all {
		if to, err := os.Readlink(filepath.Join(open, e.Name())); err == nil && strings.HasPrefix(to, dir) {
			files = append(files, to)
		}
	}
	return files
}

// TestNothingLeaks: transfers of files that complete, that clients abort, and that are
// aborted because a file is replaced, truncated, grown or deleted leave no open files
// and no goroutines behind.
func TestNothingLeaks(t *testing.T) {
	const size = 400_000
	c := &filed{copiesOf(20, size), t.TempDir()}
	path := func(i int) string { return filepath.Join(c.dir, fmt.Sprintf("%06d.bin", i)) }
	mend := func() {
		for i := range c.n {
			if err := os.WriteFile(path(i), c.content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	mend()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would close what is lost
	group := leaktest.Run(t.Context(), func(context.Context) {
		src := newSource(t, nil, rshttp.Set{Provider: c})
		srv := httptest.NewServer(src)
		defer srv.Close()
		client := srv.Client()
		defer client.CloseIdleConnections()
		get := func(stop int64, meanwhile func()) (complete bool) {
			res, err := client.Get(srv.URL + wholePath)
			if err != nil {
				t.Error(err)
				return false
			}
			defer res.Body.Close()
			n, err := io.CopyN(io.Discard, res.Body, stop)
			if err == nil && meanwhile != nil {
				meanwhile()
				n, err = io.Copy(io.Discard, res.Body)
				n += stop
			}
			return err == nil && n == res.ContentLength
		}
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				if i%2 == 0 {
					get(int64(i)*300_000, nil)
				} else if !get(1000, func() {}) {
					t.Error("a transfer that nothing happens to is not complete")
				}
			})
		}
		all.Wait()
		last := path(c.n - 1)
		for what, f := range map[string]func() error{
			"replaced":  func() error { return os.WriteFile(last, noise(9, size), 0o600) },
			"truncated": func() error { return os.Truncate(last, size-1) },
			"grown":     func() error { return os.WriteFile(last, append(noise(1, size), 'x'), 0o600) },
			"deleted":   func() error { return os.Remove(last) },
		} {
			broken := src.Counters().Broken
			if get(1000, func() {
				if err := f(); err != nil {
					t.Error(err)
				}
			}) {
				t.Errorf("%s: the transfer is complete", what)
			}
			if n := src.Counters().Broken; n != broken+1 {
				t.Errorf("%s: %d transfers broken off", what, n-broken)
			}
			mend()
		}
	})
	if n := group.Wait(0, needs.Patience); n > 0 {
		buf := make([]byte, 1<<20)
		t.Errorf("%d goroutines are left\n%s", n, buf[:runtime.Stack(buf, true)])
	}
	for deadline := time.Now().Add(needs.Patience); len(openFiles(t, c.dir)) > 0 && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	if files := openFiles(t, c.dir); len(files) > 0 {
		t.Errorf("%d files left open, among them %s", len(files), files[0])
	}
}

// TestEveryRange: for packages of random names and sizes, every random range equals
// that range of the whole.
func TestEveryRange(t *testing.T) {
	const letters = "aZ09._-~%/?=&éü漢\U0001f600 "
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		s := &summed{shelf: newShelf(t)}
		for range rnd.IntN(40) {
			key := ""
			for range 1 + rnd.IntN(30) {
				key += string([]rune(letters)[rnd.IntN(len([]rune(letters)))])
			}
			content := noise(rnd.Uint32(), rnd.IntN(1<<rnd.IntN(20)))
			r := describe(key, content)
			r.URI = "https://example.org/" + escaped(key)
			s.swap(key, content)
			s.sums.Store(r.Hashes[0], crc32.ChecksumIEEE(content))
			if err := s.Put(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		srv := httptest.NewServer(newSource(t, nil, rshttp.Set{Provider: s}))
		ask := func(header string) (string, *http.Response) {
			req, err := http.NewRequest(http.MethodGet, srv.URL+wholePath, nil)
			if err != nil {
				t.Fatal(err)
			}
			if header != "" {
				req.Header.Set("Range", header)
			}
			res, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			return text(t, res), res
		}
		whole, _ := ask("")
		for range 40 {
			from := rnd.IntN(len(whole))
			to := from + rnd.IntN(min(len(whole)-from, 1<<rnd.IntN(22)))
			got, res := ask(fmt.Sprintf("bytes=%d-%d", from, to))
			if res.StatusCode != 206 || got != whole[from:to+1] {
				t.Fatalf("seed %d: bytes %d to %d of %d: %s, %d bytes that are not those", seed, from, to, len(whole), res.Status, len(got))
			}
		}
		srv.Close()
	}
}

// escaped returns key with all characters percent-encoded that a URI cannot hold.
func escaped(key string) string {
	var b strings.Builder
	for _, c := range []byte(key) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("._-~/?=&", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
