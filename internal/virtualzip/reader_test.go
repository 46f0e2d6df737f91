package virtualzip_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// TestRanges reads random ranges of random packages in random ways.
func TestRanges(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			var s source
			var entries []virtualzip.Entry
			for i := range r.IntN(12) {
				// Sizes around those at which reading changes its method.
				size := []int{0, 0, 1, r.IntN(100), r.IntN(60_000), 256<<10 - 1 + r.IntN(3), 256<<10 + r.IntN(400_000)}[r.IntN(7)]
				content := random(seed<<32+uint64(i), size)
				name := fmt.Sprintf("resources/%d/%x", i, random(uint64(i), r.IntN(50)))
				switch kind := r.IntN(kinds + 2); kind {
				case kinds:
					entries = append(entries, literal(name, content))
				case kinds + 1:
					entries = append(entries, file(t, name, filepath.Join(t.TempDir(), "f"), content))
				default:
					entries = append(entries, s.entry(name, content, kind))
				}
			}
			want := whole(t, archive(t, entries...))
			for i := range entries {
				if r.IntN(3) == 0 {
					defers(&entries[i])
				}
			}
			a := archive(t, entries...)
			if _, err := zip.NewReader(bytes.NewReader(want), int64(len(want))); err != nil {
				t.Fatal(err)
			}
			reader := a.NewReader(t.Context(), nil)
			var got bytes.Buffer
			for range 30 {
				from, to := r.IntN(len(want)+1), r.IntN(len(want)+1)
				from, to = min(from, to), max(from, to)
				seek(t, reader, int64(from), r.IntN(3), a.Size())
				got.Reset()
				var err error
				switch r.IntN(3) {
				case 0:
					_, err = reader.WriteTo(&got)
					to = len(want)
				case 1:
					_, err = io.CopyN(&got, reader, int64(to-from))
				case 2:
					_, err = io.CopyBuffer(struct{ io.Writer }{&got}, io.LimitReader(reader, int64(to-from)), make([]byte, 1+r.IntN(70_000)))
				}
				if err != nil {
					t.Fatalf("from %d to %d: %v", from, to, err)
				}
				if !bytes.Equal(got.Bytes(), want[from:to]) {
					t.Fatalf("from %d to %d: other bytes than in the whole", from, to)
				}
			}
			if err := reader.Close(); err != nil {
				t.Fatal(err)
			}
			if s.open.Load() != 0 || s.most.Load() > 1 {
				t.Errorf("%d entries left open, %d open at once", s.open.Load(), s.most.Load())
			}
		})
	}
}

func seek(t *testing.T, s io.Seeker, pos int64, whence int, size int64) {
	t.Helper()
	offset := pos
	switch whence {
	case io.SeekCurrent:
		at, err := s.Seek(0, io.SeekCurrent)
		if err != nil {
			t.Fatal(err)
		}
		offset -= at
	case io.SeekEnd:
		offset -= size
	}
	if got, err := s.Seek(offset, whence); got != pos || err != nil {
		t.Fatalf("Seek(%d, %d) = %d, %v; want %d", offset, whence, got, err, pos)
	}
}

// TestEveryRange reads every range of a small package.
func TestEveryRange(t *testing.T) {
	var s source
	a := archive(t,
		literal("m", []byte("<urlset/>")),
		s.entry("a", nil, plain), s.entry("b", []byte("bb"), plain), s.entry("c", nil, seeker), s.entry("d", []byte("d"), readerAt))
	want := whole(t, a)
	r := a.NewReader(t.Context(), nil)
	defer r.Close()
	buf := make([]byte, len(want)+1)
	for from := range len(want) + 1 {
		for to := from + 1; to <= len(want)+1; to++ {
			seek(t, r, int64(from), io.SeekStart, a.Size())
			n, err := r.Read(buf[:to-from])
			if exp := want[from:min(to, len(want))]; !bytes.Equal(buf[:n], exp) || (err == io.EOF) != (len(exp) == 0) {
				t.Fatalf("from %d to %d: %q, %v; want %q", from, to, buf[:n], err, exp)
			}
		}
	}
}

func TestSeekErrors(t *testing.T) {
	r := archive(t).NewReader(t.Context(), nil)
	defer r.Close()
	if _, err := r.Seek(-1, io.SeekStart); err == nil {
		t.Error("before the beginning")
	}
	if _, err := r.Seek(0, 3); err == nil {
		t.Error("from nowhere")
	}
	if pos, err := r.Seek(1<<40, io.SeekStart); pos != 1<<40 || err != nil {
		t.Errorf("beyond the end: %d, %v", pos, err)
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("Read beyond the end: %d, %v", n, err)
	}
}

// TestOpens checks how often and how an entry is opened.
func TestOpens(t *testing.T) {
	content := random(1, 1<<20)
	for _, tt := range []struct {
		name       string
		kind       int
		from       int64 // within the content
		read, want int64 // bytes of the source that are read
	}{
		{"from the beginning", seeker, 0, 1000, 1000},
		{"near it", seeker, 256 << 10, 1000, 256<<10 + 1000},
		{"beyond", seeker, 256<<10 + 1, 1000, 1000},
		{"beyond, by ReadAt", readerAt, 256<<10 + 1, 1000, 1000},
		{"beyond, to the end", seeker, 300_000, 1<<20 - 300_000, 1 << 20},
		{"beyond, to the end, by ReadAt", readerAt, 300_000, 1<<20 - 300_000, 1 << 20},
		{"but for the last byte", seeker, 300_000, 1<<20 - 300_001, 1<<20 - 300_001},
		{"the last byte", seeker, 1<<20 - 1, 1, 1 << 20},
		{"a source that cannot seek", plain, 1<<20 - 1000, 1000, 1 << 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s source
			var count int64
			e := s.entry("a", content, tt.kind)
			open := e.Open
			e.Open = func(ctx context.Context) (io.ReadCloser, error) {
				src, err := open(ctx)
				counted := counting{src, &count}
				switch src := src.(type) {
				case io.Seeker:
					return struct {
						counting
						io.Seeker
					}{counted, src}, err
				case io.ReaderAt:
					return struct {
						counting
						io.ReaderAt
					}{counted, countingAt{src, &count}}, err
				}
				return counted, err
			}
			a := archive(t, e)
			start := int64(bytes.Index(whole(t, a), content[:100]))
			count = 0
			s.total.Store(0)
			r := a.NewReader(t.Context(), nil)
			defer r.Close()
			seek(t, r, start+tt.from, io.SeekStart, a.Size())
			for range 10 { // as http.ServeContent does: to the end, and back
				seek(t, r, start+tt.from, io.SeekStart, a.Size())
				seek(t, r, a.Size(), io.SeekStart, a.Size())
			}
			seek(t, r, start+tt.from, io.SeekStart, a.Size())
			if _, err := io.CopyN(io.Discard, struct{ io.Reader }{r}, tt.read); err != nil {
				t.Fatal(err)
			}
			if s.total.Load() != 1 || count != tt.want {
				t.Errorf("opened %d times, read %d bytes of %d", s.total.Load(), count, tt.want)
			}
		})
	}
}

type counting struct {
	io.ReadCloser
	n *int64
}

func (c counting) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	*c.n += int64(n)
	return n, err
}

type countingAt struct {
	io.ReaderAt
	n *int64
}

func (c countingAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	*c.n += int64(n)
	return n, err
}

// TestContext: the end of the context closes the open entry, even if nobody calls the
// Reader again.
func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s source
		ctx, cancel := context.WithCancel(t.Context())
		r := archive(t, s.entry("a", random(1, 100_000), plain)).NewReader(ctx, nil)
		if _, err := io.CopyN(io.Discard, r, 1000); err != nil || s.open.Load() != 1 {
			t.Fatal(err, s.open.Load())
		}
		cancel()
		synctest.Wait()
		if s.open.Load() != 0 {
			t.Error("the entry is still open")
		}
		if n, err := r.Read(make([]byte, 10)); n != 0 || err != context.Canceled || r.Err() != err {
			t.Errorf("Read: %d, %v; Err: %v", n, err, r.Err())
		}
		if s.total.Load() != 1 {
			t.Error("an entry was opened after the end")
		}
	})
}

// TestContextWithinRead: Close and the end of the context both end a Read that waits
// for its source, and the entry is not blamed.
func TestContextWithinRead(t *testing.T) {
	for name, end := range map[string]func(*virtualzip.Reader, context.CancelFunc){
		"cancel": func(_ *virtualzip.Reader, cancel context.CancelFunc) { cancel() },
		"Close":  func(r *virtualzip.Reader, _ context.CancelFunc) { r.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r := archive(t, virtualzip.Entry{Name: "a", Size: 10, Open: func(ctx context.Context) (io.ReadCloser, error) {
					return io.NopCloser(waiting{ctx}), nil
				}}).NewReader(ctx, nil)
				done := make(chan error)
				go func() {
					_, err := io.Copy(io.Discard, r)
					done <- err
				}()
				synctest.Wait()
				end(r, cancel)
				if err := <-done; err != context.Canceled {
					t.Errorf("the error is %v", err)
				}
			})
		})
	}
}

// waiting is a source that blocks until its context ends.
type waiting struct{ ctx context.Context }

func (w waiting) Read([]byte) (int, error) {
	<-w.ctx.Done()
	return 0, errors.New("interrupted")
}

func TestClose(t *testing.T) {
	var s source
	a := archive(t, s.entry("a", random(1, 100_000), plain))
	r := a.NewReader(t.Context(), nil)
	if _, err := io.CopyN(io.Discard, r, 1000); err != nil || s.open.Load() != 1 || r.Err() != nil {
		t.Fatal(err, s.open.Load(), r.Err())
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if s.open.Load() != 0 {
		t.Error("the entry is still open")
	}
	if _, err := r.Read(make([]byte, 10)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Read after Close: %v", err)
	}
}

// TestWriteTo checks that WriteTo stops at the error of its writer.
func TestWriteTo(t *testing.T) {
	r := archive(t, literal("a", random(1, 1<<20))).NewReader(t.Context(), nil)
	defer r.Close()
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		needs.Skip(t, err)
	}
	defer f.Close()
	if n, err := r.WriteTo(f); n != 0 || err == nil {
		t.Errorf("WriteTo: %d, %v", n, err)
	}
}

// TestReadAllocates: the cost of reading an entry does not grow with its size.
func TestReadAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates too")
	}
	var entries []virtualzip.Entry
	for i := range 100 {
		entries = append(entries, literal(fmt.Sprint(i), random(1, 10_000)))
	}
	a := archive(t, entries...)
	buf := make([]byte, 32<<10)
	allocs := testing.AllocsPerRun(20, func() {
		r := a.NewReader(t.Context(), nil)
		defer r.Close()
		for {
			if _, err := r.Read(buf); err != nil {
				return
			}
		}
	})
	if perEntry := allocs / 100; perEntry > 3.2 { // the bytes.Reader, its interface, the body
		t.Errorf("%.2f allocations for each entry", perEntry)
	}
}
