package rshttp_test

import (
	"encoding/base64"
	"fmt"
	"io"
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

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// TestResume interrupts a download at random places and resumes it.
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

// TestResumeCurl has curl -C - resume an interrupted download at 50 random places in
// turn.
func TestResumeCurl(t *testing.T) {
	needs.Time(t)
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

// TestFirstByte: a package begins to be sent at once, although the checksums of its
// resources are unknown. A request for its header, its beginning or one resource in it
// reads no other resource.
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

// TestReadTogether: if several clients reach a resource at the same time, Renderings
// limits how many of them read it for its checksum.
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
