package rshttp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/leaktest"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// TestBreakOff: if a resource changes while its package is sent, the client never gets
// a complete but wrong package. The log names the resource, all content is closed, and
// the package is not offered again.
func TestBreakOff(t *testing.T) {
	const key, size = "000010.txt", 100_000
	for name, content := range map[string][]byte{
		"replaced":  noise(77, size),
		"truncated": noise(10, size)[:size-1],
		"grown":     append(noise(10, size), 'x'),
		"deleted":   nil,
	} {
		for i, header := range []string{"", "bytes=100000-", "bytes=0-99,1000000-1200000", "", "bytes=1000000-"} {
			sums := i < 3 // are stated
			t.Run(fmt.Sprintf("%s %s %v", name, header, sums), func(t *testing.T) {
				var log bytes.Buffer
				s := &summed{shelf: newShelf(t)}
				for i := range 20 {
					s.put(fmt.Sprintf("%06d.txt", i), noise(uint32(i), size))
				}
				set := rshttp.Set{Provider: s}
				if !sums {
					set.Opener = s.shelf
				}
				src := newSource(t, &rshttp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, set)

				s.opening = func(opened string) {
					if opened == key {
						s.swap(key, content)
					}
				}
				var etag string
				left := leaktest.Run(t.Context(), func(context.Context) {
					srv := httptest.NewServer(src)
					defer srv.Close()
					client := srv.Client()
					defer client.CloseIdleConnections()
					req, err := http.NewRequest(http.MethodGet, srv.URL+wholePath, nil)
					if err != nil {
						t.Fatal(err)
					}
					if header != "" {
						req.Header.Set("Range", header)
					}
					res, err := client.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					defer res.Body.Close()
					etag = res.Header.Get("ETag")
					n, err := io.Copy(io.Discard, res.Body)
					if err == nil {
						t.Errorf("%s, %d bytes of %d, and no error", res.Status, n, res.ContentLength)
					}
				}).Wait(0, needs.Patience)
				if left > 0 || s.open.Load() != 0 {
					t.Errorf("%d goroutines and %d contents are left open", left, s.open.Load())
				}
				if !strings.Contains(log.String(), "uri=https://example.org/"+key) {
					t.Errorf("the log does not say which resource it was: %s", log.String())
				}
				if c := src.Counters(); c.Broken != 1 || c.PlanBytes != 0 {
					t.Errorf("counters %+v", c)
				}

				if again := get(t, src, wholePath); again.StatusCode != 503 {
					t.Errorf("before the correction: %s", again.Status)
				}
				s.opening = nil
				if content == nil {
					if err := s.Delete(t.Context(), key); err != nil {
						t.Error(err)
					}
				} else {
					s.put(key, content)
				}
				if again := get(t, src, wholePath); again.StatusCode != 200 || again.Header.Get("ETag") == etag {
					t.Errorf("afterwards: %s, ETag %s again", again.Status, again.Header.Get("ETag"))
				}
			})
		}
	}
}

// fragile content panics half-way.
type fragile struct{ *summed }

func (f fragile) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	content, err := f.summed.Open(ctx, r)
	if r.Key != "000002.txt" || err != nil {
		return content, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(content, 100_000), defective{}), content}, nil
}

type defective struct{}

func (defective) Read([]byte) (int, error) { panic("the provider's defect") }

// TestPanic: a panic while content is read aborts only that transfer.
func TestPanic(t *testing.T) {
	for _, ranges := range []string{"", "bytes=0-99,300000-900000"} {
		s := &summed{shelf: newShelf(t)}
		for i := range 5 {
			s.put(fmt.Sprintf("%06d.txt", i), noise(uint32(i), 200_000))
		}
		var log bytes.Buffer
		srv := httptest.NewServer(newSource(t, &rshttp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, rshttp.Set{Provider: fragile{s}}))
		req, err := http.NewRequest(http.MethodGet, srv.URL+wholePath, nil)
		if err != nil {
			t.Fatal(err)
		}
		if ranges != "" {
			req.Header.Set("Range", ranges)
		}
		res, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, res.Body); err == nil {
			t.Errorf("%s: %d bytes of %d, and no error", ranges, n, res.ContentLength)
		}
		res.Body.Close()
		srv.Close()
		if s.open.Load() != 0 || !strings.Contains(log.String(), "the provider's defect") || !strings.Contains(log.String(), "uri=https://example.org/000002.txt") {
			t.Errorf("%s: %d contents left open; the log says %s", ranges, s.open.Load(), log.String())
		}
	}
}

// isBrokenOff gets path and reports whether the transfer is broken off.
func isBrokenOff(t testing.TB, h http.Handler, path string) (broken bool) {
	t.Helper()
	defer func() {
		if cause := recover(); cause == http.ErrAbortHandler {
			broken = true
		} else if cause != nil {
			panic(cause)
		}
	}()
	get(t, h, path)
	return false
}

// TestTransfers: no more packages are sent at a time than the limit allows, and
// documents do not count.
func TestTransfers(t *testing.T) {
	s := shelfOf(t, 10, 1000)
	src := newSource(t, &rshttp.Options{Limits: rshttp.Limits{Transfers: 2, ClientTransfers: 3, Renderings: 1, Wait: -1}}, rshttp.Set{Provider: s})
	packages(t, src)
	get(t, src, wholePath)
	hold, held := make(chan struct{}), make(chan struct{}, 2)
	s.opening = func(string) {
		held <- struct{}{}
		<-hold
	}
	var slow sync.WaitGroup
	for range 2 {
		slow.Go(func() {
			if res := get(t, src, wholePath); res.StatusCode != 200 {
				t.Error(res.Status)
			}
		})
		<-held
	}
	res := get(t, src, wholePath)
	if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || res.Header.Get("ETag") != "" {
		t.Errorf("a third: %s, %v", res.Status, res.Header)
	}
	for _, path := range []string{dumpPath, "/resourcesync/resourcelist.xml"} {
		if res := get(t, src, path); res.StatusCode != 200 {
			t.Errorf("%s beside: %s", path, res.Status)
		}
	}
	s.mu.Lock()
	s.opening = nil
	s.mu.Unlock()
	go func() {
		for range held { // those that are opened later
		}
	}()
	close(hold)
	slow.Wait()
	close(held)
	if res := get(t, src, wholePath); res.StatusCode != 200 {
		t.Errorf("afterwards: %s", res.Status)
	}
}

// TestLostClient: a transfer whose client disconnects ends at once.
func TestLostClient(t *testing.T) {
	s := shelfOf(t, 10, 1_500_000) // more than fits into buffers of sockets
	src := newSource(t, &rshttp.Options{Limits: rshttp.Limits{Transfers: 1}}, rshttp.Set{Provider: s})
	srv := httptest.NewServer(src)
	defer srv.Close()
	res, err := http.Get(srv.URL + wholePath)
	if err != nil {
		t.Fatal(err)
	}
	if res := do(t, src, http.MethodHead, wholePath); res.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("the transfer has ended before its client disconnected: %s", res.Status)
	}
	res.Body.Close()
	for deadline := time.Now().Add(needs.Patience); ; time.Sleep(time.Millisecond) {
		if res := do(t, src, http.MethodHead, wholePath); res.StatusCode == 200 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the transfer goes on without its client")
		}
	}
}
