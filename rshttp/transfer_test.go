package rshttp_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/leaktest"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// TestResume cuts a download at random places and goes on from there.
func TestResume(t *testing.T) {
	srv := httptest.NewServer(newSource(t, nil, rshttp.Set{Provider: shelfOf(t, 40, 10_000)}))
	defer srv.Close()
	fetch := func(header ...string) *http.Response {
		req, err := http.NewRequest(http.MethodGet, srv.URL+wholePath, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := fetch()
	etag, whole := res.Header.Get("ETag"), text(t, res)
	rnd := rand.New(rand.NewPCG(9, 9))
	for range 50 {
		at := rnd.IntN(len(whole))
		cut := fetch()
		begun := make([]byte, at)
		if _, err := io.ReadFull(cut.Body, begun); err != nil {
			t.Fatal(err)
		}
		cut.Body.Close()
		rest := fetch("Range", fmt.Sprintf("bytes=%d-", at), "If-Range", etag)
		if got := string(begun) + text(t, rest); rest.StatusCode != 206 || got != whole {
			t.Fatalf("resumed at %d: %s, %d bytes that are not the package", at, rest.Status, len(got))
		}
	}
}

// TestResumeCurl has curl -C - go on with a download that was cut off, at 50 random
// places one after the other.
func TestResumeCurl(t *testing.T) {
	curl, ok := tool(t, "curl")
	if !ok {
		t.Skip("no curl to resume with")
	}
	src := newSource(t, nil, rshttp.Set{Provider: shelfOf(t, 40, 10_000)})
	whole := text(t, get(t, src, wholePath))
	rnd := rand.New(rand.NewPCG(7, 7))
	cuts := make([]int, 50)
	for i := range cuts {
		cuts[i] = 1 + rnd.IntN(len(whole)-1)
	}
	slices.Sort(cuts)
	cuts = append(slices.Compact(cuts), len(whole))
	var left atomic.Int64 // bytes before the connection breaks
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		src.ServeHTTP(&cutting{w, int(left.Load())}, r)
	}))
	defer srv.Close()
	file, had := filepath.Join(t.TempDir(), "package.zip"), 0
	for _, cut := range cuts {
		left.Store(int64(cut - had))
		had = cut
		out, err := exec.Command(curl, "-sS", "-C", "-", "-o", file, srv.URL+wholePath).CombinedOutput()
		if (err == nil) != (cut == len(whole)) {
			t.Fatalf("cut at %d: %v %s", cut, err, out)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != whole[:cut] {
			t.Fatalf("cut at %d: %d bytes that are not those of the package: %v", cut, len(got), err)
		}
	}
}

// A cutting ResponseWriter breaks the connection after some bytes.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	if c.left -= n; err == nil && n < len(p) {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// TestResumeChanged: when a resource has changed, what is left of the old package
// is not to be had.
func TestResumeChanged(t *testing.T) {
	s := shelfOf(t, 10, 1000)
	src := newSource(t, nil, rshttp.Set{Provider: s})
	etag := get(t, src, wholePath).Header.Get("ETag")
	s.put("000004.txt", noise(99, 1000))
	res := get(t, src, wholePath, "Range", "bytes=5000-", "If-Range", etag)
	if res.StatusCode != 200 || res.Header.Get("ETag") == etag || !strings.HasPrefix(text(t, res), "PK") {
		t.Errorf("%s, ETag %s after %s", res.Status, res.Header.Get("ETag"), etag)
	}
}

// TestBreakOff: what happens to a resource while its package is sent, the client
// never gets a package that is complete and wrong. The log says which resource it
// was, nothing stays open, and the package is not offered again.
func TestBreakOff(t *testing.T) {
	const key, size = "000010.txt", 300_000
	for name, content := range map[string][]byte{
		"replaced":  noise(77, size),
		"truncated": noise(10, size)[:size-1],
		"grown":     append(noise(10, size), 'x'),
		"deleted":   nil,
	} {
		for i, header := range []string{"", "bytes=100000-", "bytes=0-99,3000000-3600000", "", "bytes=3000000-"} {
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
				}).Wait(0, 10*time.Second)
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
					t.Errorf("while nothing is mended: %s", again.Status)
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

// TestPanic: content whose reading panics breaks its transfer, and nothing else.
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

// TestFirstByte: a package begins to be sent at once, though nobody has stated the
// checksums of what is in it. Asking for its head, its beginning or a resource in it
// reads no other.
func TestFirstByte(t *testing.T) {
	s := shelfOf(t, 20, 10_000)
	received := make(chan struct{})
	s.opening = func(string) { <-received }
	src := newSource(t, nil, rshttp.Set{Provider: s})
	srv := httptest.NewServer(src)
	defer srv.Close()
	res, err := http.Get(srv.URL + wholePath)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	manifest := text(t, get(t, src, strings.TrimSuffix(wholePath, ".zip")+".xml"))
	begun := make([]byte, len("manifest.xml")+len(manifest))
	if _, err := io.ReadFull(res.Body, begun); err != nil || !strings.Contains(string(begun), "manifest.xml") {
		t.Errorf("%v, %q", err, begun)
	}
	head := do(t, src, http.MethodHead, wholePath)
	part := get(t, src, wholePath, "Range", "bytes=0-99")
	if head.ContentLength != res.ContentLength || head.StatusCode != 200 || part.StatusCode != 206 || src.Counters().Read > 1 {
		t.Errorf("%s, %d bytes of %d; %s; %+v", head.Status, head.ContentLength, res.ContentLength, part.Status, src.Counters())
	}
	close(received)
	rest := text(t, res)
	if int64(len(begun)+len(rest)) != res.ContentLength || src.Counters().Read != 20 {
		t.Errorf("%d bytes of %d; %+v", len(begun)+len(rest), res.ContentLength, src.Counters())
	}
	again := get(t, newSource(t, nil, rshttp.Set{Provider: s}), wholePath, "Range", fmt.Sprintf("bytes=%d-", len(begun)), "If-Range", res.Header.Get("ETag"))
	if again.StatusCode != 206 || text(t, again) != rest {
		t.Errorf("another Source, which has read nothing yet, answers %s, or with other bytes", again.Status)
	}
}

// TestReadTogether: of the clients that come to a resource at the same time, no more read it
// for its checksum than have turns.
func TestReadTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shelfOf(t, 1, 1000)
		src := newSource(t, &rshttp.Options{Limits: rshttp.Limits{Renderings: 2}}, rshttp.Set{Provider: s})
		hold := make(chan struct{})
		s.opening = func(string) { <-hold }
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if res := get(t, src, wholePath); res.StatusCode != 200 {
					t.Error(res.Status)
				}
			})
		}
		synctest.Wait()
		close(hold)
		all.Wait()
		if c := src.Counters(); c.Read != 2 {
			t.Errorf("it was read %d times", c.Read)
		}
	})
}

// TestUnlistedPackages: a request for the last bytes of packages that no dump lists
// reads all of their content, but delays no other client.
func TestUnlistedPackages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shelfOf(t, 20, 1000)
		src := newSource(t, &rshttp.Options{Limits: rshttp.Limits{Renderings: 4}}, rshttp.Set{Provider: bare{s}})
		dump := packages(t, src)
		var reading atomic.Int64
		hold := make(chan struct{})
		s.opening = func(string) {
			reading.Add(1)
			<-hold
		}
		var all sync.WaitGroup
		last := func(path string) {
			all.Go(func() {
				if res := get(t, src, path, "Range", "bytes=-1"); res.StatusCode != 206 {
					t.Errorf("%s: %s", path, res.Status)
				}
			})
			synctest.Wait()
		}
		for i := range 8 {
			last("/resourcesync/resourcedump/" + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "00000%d", i+1)) + "~.zip")
		}
		if n := reading.Load(); n != 1 {
			t.Errorf("%d resources are read for unlisted packages at once", n)
		}
		last(strings.TrimPrefix(dump[0].Loc, "https://example.org"))
		if n := reading.Load(); n != 2 {
			t.Errorf("%d resources are read: the package of the dump waits", n)
		}
		close(hold)
		all.Wait()
	})
}

// TestUnlike: content that is not what is listed breaks the transfer, if it must be
// read for its checksum, and is found out beforehand from then on. When it has been
// mended the package is another one, whatever was listed.
func TestUnlike(t *testing.T) {
	right := noise(3, 1000)
	for name, content := range map[string][]byte{
		"replaced":  noise(77, 1000),
		"truncated": right[:999],
		"grown":     append(right[:1000:1000], 'x'),
		"deleted":   nil,
	} {
		var log bytes.Buffer
		s := shelfOf(t, 5, 1000)
		src := newSource(t, &rshttp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, rshttp.Set{Provider: s})
		etag := do(t, src, http.MethodHead, wholePath).Header.Get("ETag")
		s.swap("000003.txt", content)
		if !isBrokenOff(t, src, wholePath) {
			t.Errorf("%s: sent", name)
		}
		res := get(t, src, wholePath)
		if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || res.Header.Get("Content-Type") == "application/zip" {
			t.Errorf("%s: %s, %v", name, res.Status, res.Header)
		}
		if !strings.Contains(log.String(), "https://example.org/000003.txt") {
			t.Errorf("%s: the log does not say which resource it was: %s", name, log.String())
		}
		if c := src.Counters(); c.Read > 4+3 {
			t.Errorf("%s: %d resources were read in three attempts", name, c.Read)
		}
		s.swap("000003.txt", right)
		if res := get(t, src, wholePath); res.StatusCode != 200 || res.Header.Get("ETag") == etag {
			t.Errorf("%s, mended: %s, ETag %s", name, res.Status, etag)
		}
	}
}

// An unsized provider does not know how long its resources are.
type unsized struct{ *shelf }

func (u unsized) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for res, err := range u.shelf.Resources(ctx, r) {
			res.Length = resourcesync.Length{}
			if !yield(res, err) {
				return
			}
		}
	}
}

// TestChangeWhileLaidOut: when a set changes while its package is laid out, which
// takes reading what is of unknown length, the package is that of the set afterwards.
func TestChangeWhileLaidOut(t *testing.T) {
	s := shelfOf(t, 5, 1000)
	src := newSource(t, nil, rshttp.Set{Provider: unsized{s}})
	var once sync.Once
	s.opening = func(string) { once.Do(func() { s.put("000003.txt", noise(77, 500)) }) }
	if got := unpack(t, src, wholePath); got["https://example.org/000003.txt"] != string(noise(77, 500)) {
		t.Error("the package has the old content")
	}
}

// TestNewStamp: a new Stamp alone is no change, also for a package that was laid
// out before.
func TestNewStamp(t *testing.T) {
	s := &summed{shelf: newShelf(t)}
	s.put("a", []byte("content"))
	src := newSource(t, nil, rshttp.Set{Provider: stamped{s}})
	r := describe("a", []byte("content"))
	for _, stamp := range []string{"1", "2"} {
		r.Stamp = stamp
		if err := s.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		unpack(t, src, wholePath)
	}
	if n := src.Counters().Planned; n != 1 {
		t.Errorf("laid out %d times", n)
	}
}

// stamped opens a resource only by the Stamp that it has now.
type stamped struct{ *summed }

func (s stamped) stamp(ctx context.Context, key string) string {
	now, err := s.Known(ctx, []string{key})
	if err != nil {
		s.t.Error(err)
		return ""
	}
	return now[0].Stamp
}

func (s stamped) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for res := range s.summed.Resources(ctx, r) {
			if res.Stamp = s.stamp(ctx, res.Key); !yield(res, nil) {
				return
			}
		}
	}
}

func (s stamped) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	if s.stamp(ctx, r.Key) != r.Stamp {
		return nil, fs.ErrNotExist
	}
	return s.summed.Open(ctx, r)
}

// TestTransfers: no more packages are sent at the same time than may be, and
// documents are none of them.
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
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		if res := do(t, src, http.MethodHead, wholePath); res.StatusCode == 200 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the transfer goes on without its client")
		}
	}
}
