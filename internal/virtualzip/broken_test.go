package virtualzip_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/leaktest"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// damages are possible changes of a file after it was listed, each with the error that
// reading it must return.
var damages = []struct {
	name string
	do   func(path string, content []byte) error
	want error
}{
	{"replaced", func(path string, content []byte) error {
		changed := slices.Clone(content)
		changed[0] ^= 1
		return os.WriteFile(path, changed, 0)
	}, virtualzip.ErrChanged},
	{"last byte changed", func(path string, content []byte) error {
		changed := slices.Clone(content)
		changed[len(changed)-1] ^= 1
		return os.WriteFile(path, changed, 0)
	}, virtualzip.ErrChanged},
	{"truncated", func(path string, content []byte) error { return os.Truncate(path, int64(len(content)-1)) }, virtualzip.ErrChanged},
	{"emptied", func(path string, content []byte) error { return os.Truncate(path, 0) }, virtualzip.ErrChanged},
	{"grown", func(path string, content []byte) error {
		return os.WriteFile(path, append(slices.Clone(content), 0), 0)
	}, virtualzip.ErrChanged},
	{"deleted", func(path string, _ []byte) error { return os.Remove(path) }, fs.ErrNotExist},
}

// TestDamage reads packages in which a file has changed since it was listed. The last
// byte of its content must never be sent, nor anything after it.
func TestDamage(t *testing.T) {
	for _, size := range []int{1, 100, 20_000, 600_000} {
		for _, d := range damages {
			content := random(uint64(size), size)
			dir := t.TempDir()
			path := filepath.Join(dir, "b")
			a := archive(t,
				file(t, "a", filepath.Join(dir, "a"), []byte("before")),
				file(t, "resources/b", path, content),
				file(t, "c", filepath.Join(dir, "c"), []byte("after")))
			want := whole(t, a)
			start := bytes.Index(want, content)
			if size == 1 {
				start = bytes.Index(want, []byte("resources/b")) + len("resources/b") + 9
			}
			if err := d.do(path, content); err != nil {
				t.Fatal(err)
			}
			for _, from := range []int{0, start - 1, start} {
				for _, buf := range []int{1000, 32 << 10, 0} {
					t.Run(fmt.Sprintf("%s/%d/%d/%d", d.name, size, from, buf), func(t *testing.T) {
						r := a.NewReader(t.Context(), nil)
						defer r.Close()
						seek(t, r, int64(from), io.SeekStart, a.Size())
						var got bytes.Buffer
						var err error
						if buf == 0 {
							_, err = r.WriteTo(&got)
						} else {
							_, err = io.CopyBuffer(&got, struct{ io.Reader }{r}, make([]byte, buf))
						}
						checkEntryError(t, err, "resources/b", d.want)
						if r.Err() != err {
							t.Errorf("Err: %v", r.Err())
						}
						if last := start + size - 1; from+got.Len() > last {
							t.Errorf("%d bytes handed out, of which only %d may be", got.Len(), last-from)
						}
						if _, again := r.Read(make([]byte, 1)); again != err {
							t.Errorf("reading went on: %v", again)
						}
					})
				}
			}
		}
	}
}

func checkEntryError(t *testing.T, err error, name string, want error) {
	t.Helper()
	if ee, ok := errors.AsType[*virtualzip.EntryError](err); !ok || ee.Name != name || !errors.Is(err, want) || !strings.Contains(err.Error(), name) {
		t.Errorf("error %v; want one of entry %q that is %v", err, name, want)
	}
}

// TestD21_DamageWithin reads from inside an entry to its end. Damage before the range
// is detected as well, whether or not the source can seek.
func TestD21_DamageWithin(t *testing.T) {
	content := random(1, 600_000)
	replaced := slices.Clone(content)
	replaced[0] ^= 1
	for _, tt := range []struct {
		name string
		now  []byte
		kind int
		from int
		want error
	}{
		{"replaced, near the beginning", replaced, seeker, 256 << 10, virtualzip.ErrChanged},
		{"replaced, beyond", replaced, seeker, 256<<10 + 1, virtualzip.ErrChanged},
		{"replaced, beyond, by ReadAt", replaced, readerAt, 256<<10 + 1, virtualzip.ErrChanged},
		{"replaced, at the last byte", replaced, seeker, 599_999, virtualzip.ErrChanged},
		{"as listed", content, seeker, 400_000, nil},
		{"as listed, by ReadAt", content, readerAt, 400_000, nil},
		{"replaced, cannot seek", replaced, plain, 599_999, virtualzip.ErrChanged},
		{"shorter", content[1:], seeker, 400_000, virtualzip.ErrChanged},
		{"shorter, by ReadAt", content[1:], readerAt, 400_000, virtualzip.ErrChanged},
		{"much shorter", content[300_000:], seeker, 400_000, virtualzip.ErrChanged},
		{"shorter, cannot seek", content[1:], plain, 400_000, virtualzip.ErrChanged},
		{"shorter than what is skipped", content[400_000:], plain, 400_000, virtualzip.ErrChanged},
		{"all of it skipped", nil, plain, 600_000, nil},
		{"longer", append(slices.Clone(content), 0), seeker, 599_999, virtualzip.ErrChanged},
		{"longer, by ReadAt", append(slices.Clone(content), 0), readerAt, 599_999, virtualzip.ErrChanged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s source
			e := s.entry("a", content, tt.kind)
			a := archive(t, e)
			start := bytes.Index(whole(t, a), content[:100])
			e.Open = s.opener(tt.now, tt.kind)
			r := archive(t, e).NewReader(t.Context(), nil)
			defer r.Close()
			seek(t, r, int64(start+tt.from), io.SeekStart, a.Size())
			_, err := r.WriteTo(io.Discard)
			if tt.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			checkEntryError(t, err, "a", tt.want)
			if s.open.Load() != 0 {
				t.Error("the entry is still open")
			}
		})
	}
}

// TestFailures checks the failures of sources that are not files.
func TestFailures(t *testing.T) {
	for name, tt := range map[string]struct {
		e    virtualzip.Entry
		want error
	}{
		"open":              {virtualzip.Entry{Size: 3}, fs.ErrPermission},
		"open an empty one": {virtualzip.Entry{Size: 0}, fs.ErrPermission},
		"empty has bytes":   {virtualzip.Entry{Open: reader(strings.NewReader("x"))}, virtualzip.ErrChanged},
		"read":              {virtualzip.Entry{Size: 3, Open: reader(iotest.ErrReader(errFailed))}, errFailed},
		"read on at the end": {virtualzip.Entry{Size: 3, CRC32: 0x352441c2,
			Open: reader(io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(errFailed)))}, errFailed},
		"seek": {virtualzip.Entry{Size: 1 << 20, Open: func(context.Context) (io.ReadCloser, error) {
			return struct {
				io.ReadCloser
				io.Seeker
			}{io.NopCloser(strings.NewReader("abc")), failingSeeker{}}, nil
		}}, errFailed},
	} {
		t.Run(name, func(t *testing.T) {
			tt.e.Name = "a"
			if tt.e.Open == nil {
				tt.e.Open = func(context.Context) (io.ReadCloser, error) { return nil, fs.ErrPermission }
			}
			r := archive(t, tt.e).NewReader(t.Context(), nil)
			defer r.Close()
			if name == "seek" {
				seek(t, r, 1<<19, io.SeekStart, 0)
			}
			_, err := r.WriteTo(io.Discard)
			checkEntryError(t, err, "a", tt.want)
		})
	}
}

func reader(r io.Reader) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) { return io.NopCloser(r), nil }
}

type failingSeeker struct{}

func (failingSeeker) Seek(int64, int) (int64, error) { return 0, errFailed }

// TestDamageDuring damages a file of which a client already has a part.
func TestDamageDuring(t *testing.T) {
	content := random(1, 600_000)
	for _, d := range damages {
		if d.name == "deleted" {
			continue // an open file goes on existing
		}
		t.Run(d.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a")
			r := archive(t, file(t, "a", path, content)).NewReader(t.Context(), nil)
			defer r.Close()
			if _, err := io.CopyN(io.Discard, r, 300_000); err != nil {
				t.Fatal(err)
			}
			if err := d.do(path, content); err != nil {
				t.Fatal(err)
			}
			_, err := r.WriteTo(io.Discard)
			if d.name == "replaced" {
				// Its first byte had been read, and the rest matches the listing.
				if err != nil {
					t.Error(err)
				}
				return
			}
			checkEntryError(t, err, "a", d.want)
		})
	}
}

// TestBrokenTransfer: a client sees each damage as an aborted transfer, the handler
// learns which entry it is, and nothing leaks.
func TestBrokenTransfer(t *testing.T) {
	dir := t.TempDir()
	content := random(1, 600_000)
	path := filepath.Join(dir, "b")
	a := archive(t,
		file(t, "a", filepath.Join(dir, "a"), random(2, 300_000)),
		file(t, "resources/b", path, content),
		file(t, "c", filepath.Join(dir, "c"), random(3, 300_000)))
	h := &handler{archive: a, errs: make(chan error, 1)}
	nothingLeft(t, func(context.Context) {
		srv := httptest.NewServer(h)
		defer srv.Close()
		for _, d := range damages {
			t.Run(d.name, func(t *testing.T) {
				file(t, "resources/b", path, content)
				if err := d.do(path, content); err != nil {
					t.Fatal(err)
				}
				for _, ranges := range []string{"", "bytes=100-", "bytes=0-10,20-"} {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
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
					n, err := io.Copy(io.Discard, res.Body)
					res.Body.Close()
					if !errors.Is(err, io.ErrUnexpectedEOF) || n >= res.ContentLength {
						t.Errorf("range %q: the client has %d bytes of %d: %v", ranges, n, res.ContentLength, err)
					}
					checkEntryError(t, <-h.errs, "resources/b", d.want)
				}
			})
		}
	})
}

// TestAbandonedTransfers: nothing leaks when clients leave, and a Reader may be closed
// while http.ServeContent still reads it.
func TestAbandonedTransfers(t *testing.T) {
	dir := t.TempDir()
	a := archive(t, file(t, "a", filepath.Join(dir, "a"), random(1, 4<<20)), file(t, "b", filepath.Join(dir, "b"), random(2, 4<<20)))
	h := &handler{archive: a, errs: make(chan error, 100)}
	nothingLeft(t, func(context.Context) {
		srv := httptest.NewServer(h)
		defer srv.Close()
		for i := range 40 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				req.Header.Set("Range", "bytes=0-3000000,3000000-6000000")
			}
			res, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.CopyN(io.Discard, res.Body, int64(i)*50_000); err != nil {
				t.Error(err)
			}
			res.Body.Close()
		}
	})
}

// A handler serves an archive as rshttp does: it aborts the connection when reading
// fails.
type handler struct {
	archive *virtualzip.Archive
	errs    chan error // what reading ended with, of each request
}

func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r := h.archive.NewReader(req.Context(), nil)
	defer r.Close()
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("ETag", `"`+h.archive.Version()+`"`)
	http.ServeContent(pieces{w}, req, "", time.Time{}, r)
	err := r.Err()
	h.errs <- err
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// pieces makes http.ServeContent write pieces as large as WriteTo does.
type pieces struct{ http.ResponseWriter }

func (p pieces) ReadFrom(r io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{p.ResponseWriter}, r, make([]byte, 256<<10))
}

// nothingLeft calls f, which must leave no goroutine and no file open.
func nothingLeft(t *testing.T, f func(context.Context)) {
	t.Helper()
	files := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			needs.Skip(t, err)
		}
		return len(all)
	}
	before := files()
	started := leaktest.Run(t.Context(), f)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if n := started.Wait(0, needs.Patience); n > 0 {
		t.Errorf("%d goroutines are left", n)
	}
	for deadline := time.Now().Add(needs.Patience); files() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%d files became %d", before, files())
			return
		}
	}
}
