package virtualzip_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// sample is a package with small, large and empty entries of every kind.
func sample(t *testing.T) *virtualzip.Archive {
	t.Helper()
	var s source
	path := filepath.Join(t.TempDir(), "f")
	return archive(t,
		literal("manifest.xml", []byte("<urlset/>")),
		s.entry("resources/a", random(1, 300_000), plain),
		s.entry("resources/b", random(2, 700_000), seeker),
		s.entry("resources/c", nil, seeker),
		s.entry("resources/d", random(3, 500_000), readerAt),
		file(t, "resources/é", path, random(4, 400_000)))
}

// TestServeContent requests parts of a package from a real server.
func TestServeContent(t *testing.T) {
	a := sample(t)
	b := whole(t, a)
	srv := httptest.NewServer(&handler{archive: a, errs: make(chan error, 100)})
	defer srv.Close()
	size, tag := len(b), `"`+a.Version()+`"`
	for _, tt := range []struct {
		name, method string
		header       []string
		status       int
		want         []byte
		contentRange string
	}{
		{"all", "GET", nil, 200, b, ""},
		{"HEAD", "HEAD", nil, 200, nil, ""},
		{"a range", "GET", []string{"Range", "bytes=1000-1234567"}, 206, b[1000:1234568], fmt.Sprintf("bytes 1000-1234567/%d", size)},
		{"a byte", "GET", []string{"Range", "bytes=0-0"}, 206, b[:1], fmt.Sprintf("bytes 0-0/%d", size)},
		{"to the end", "GET", []string{"Range", "bytes=1500000-"}, 206, b[1500000:], fmt.Sprintf("bytes 1500000-%d/%d", size-1, size)},
		{"the end", "GET", []string{"Range", "bytes=-22"}, 206, b[size-22:], fmt.Sprintf("bytes %d-%d/%d", size-22, size-1, size)},
		{"beyond the end", "GET", []string{"Range", fmt.Sprintf("bytes=%d-", size)}, 416, nil, fmt.Sprintf("bytes */%d", size)},
		{"not modified", "GET", []string{"If-None-Match", tag}, 304, nil, ""},
		{"resumed", "GET", []string{"Range", "bytes=1000-", "If-Range", tag}, 206, b[1000:], fmt.Sprintf("bytes 1000-%d/%d", size-1, size)},
		{"resumed after a change", "GET", []string{"Range", "bytes=1000-", "If-Range", `"another"`}, 200, b, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := do(t, srv, tt.method, tt.header...)
			defer res.Body.Close()
			got, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != tt.status || res.Header.Get("Content-Range") != tt.contentRange {
				t.Errorf("%s, Content-Range %q; want %d, %q", res.Status, res.Header.Get("Content-Range"), tt.status, tt.contentRange)
			}
			if tt.status < 300 && res.Header.Get("ETag") != tag {
				t.Errorf("ETag %s", res.Header.Get("ETag"))
			}
			switch {
			case tt.method == "HEAD":
				if res.ContentLength != a.Size() {
					t.Errorf("Content-Length %d", res.ContentLength)
				}
			case tt.status < 300 && !bytes.Equal(got, tt.want):
				t.Errorf("%d bytes that are not the %d expected", len(got), len(tt.want))
			}
		})
	}
}

// TestServeSeveralRanges requests several ranges at once.
func TestServeSeveralRanges(t *testing.T) {
	a := sample(t)
	b := whole(t, a)
	srv := httptest.NewServer(&handler{archive: a, errs: make(chan error, 1)})
	defer srv.Close()
	ranges := [][2]int{{0, 99}, {1_200_000, 1_300_000}, {250_000, 800_000}, {len(b) - 1, len(b) - 1}}
	var header []string
	for _, r := range ranges {
		header = append(header, fmt.Sprintf("%d-%d", r[0], r[1]))
	}
	res := do(t, srv, "GET", "Range", "bytes="+strings.Join(header, ","))
	defer res.Body.Close()
	_, params, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil || res.StatusCode != http.StatusPartialContent {
		t.Fatal(res.Status, err)
	}
	parts := multipart.NewReader(res.Body, params["boundary"])
	for _, r := range ranges {
		part, err := parts.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(part); err != nil || !bytes.Equal(got, b[r[0]:r[1]+1]) {
			t.Errorf("range %v: %d bytes, %v", r, len(got), err)
		}
	}
	if _, err := parts.NextPart(); err != io.EOF {
		t.Errorf("after the last range: %v", err)
	}
}

func do(t *testing.T, srv *httptest.Server, method string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestResume interrupts a download by curl at 50 random offsets and has curl resume it
// each time.
func TestResume(t *testing.T) {
	curl := needs.Program(t, "curl")
	a := sample(t)
	want := whole(t, a)
	r := rand.New(rand.NewPCG(1, 1))
	offsets := make([]int, needs.Size(10, 50))
	for i := range offsets {
		offsets[i] = 1 + r.IntN(len(want)-1)
	}
	slices.Sort(offsets)
	offsets = slices.Compact(offsets)
	cuts := append(offsets, len(want))
	h := &handler{archive: a, errs: make(chan error, len(cuts))}
	request, sent := 0, 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		left := cuts[request] - sent
		sent, request = cuts[request], request+1
		h.ServeHTTP(&cutting{w, left}, req)
	}))
	defer srv.Close()
	path := filepath.Join(t.TempDir(), "package.zip")
	for i, cut := range cuts {
		out, err := exec.CommandContext(t.Context(), curl, "-sS", "-C", "-", "-o", path, srv.URL).CombinedOutput()
		if (err == nil) != (cut == len(want)) {
			t.Fatalf("download %d: %v: %s", i, err, out)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want[:cut]) {
			t.Fatalf("after %d of %d bytes, %d bytes that are not those", cut, len(want), len(got))
		}
	}
}

// A cutting ResponseWriter breaks the connection after some bytes of the body.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	c.left -= n
	if err == nil && n < len(p) {
		http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}
