package virtualzip_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// defers makes e compute its checksum when it is needed.
func defers(e *virtualzip.Entry) {
	crc := e.CRC32
	e.CRC32 = 0xdeadbeef // what is to be found out is not known
	e.Checksum = func(context.Context) (uint32, error) { return crc, nil }
}

// TestDeferred: several readers that begin at different offsets read the same package
// as with known checksums.
func TestDeferred(t *testing.T) {
	var s source
	var known, later []virtualzip.Entry
	for i := range 50 {
		e := s.entry(fmt.Sprintf("%d", i), random(uint64(i), i*100), plain)
		known = append(known, e)
		defers(&e)
		later = append(later, e)
	}
	want := whole(t, archive(t, known...))
	a := archive(t, later...)
	if _, ok := a.Sum(7); ok {
		t.Error("a checksum is known before anybody has asked")
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			r := a.NewReader(t.Context(), nil)
			defer r.Close()
			rnd := rand.New(rand.NewPCG(uint64(i), 0))
			for range 20 {
				from := rnd.IntN(len(want))
				got := make([]byte, rnd.IntN(len(want)-from))
				if _, err := r.Seek(int64(from), io.SeekStart); err != nil {
					t.Error(err)
				}
				if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, want[from:from+len(got)]) {
					t.Errorf("%d bytes from %d: %v, or other bytes than in the whole", len(got), from, err)
				}
			}
		})
	}
	wg.Wait()
	if !bytes.Equal(whole(t, a), want) {
		t.Error("another package than with checksums known from the beginning")
	}
	if crc, ok := a.Sum(7); !ok || crc != known[7].CRC32 {
		t.Errorf("checksum %x, %v", crc, ok)
	}
}

// TestDeferredOnce: a checksum is computed when it is needed, not before, and only
// once.
func TestDeferredOnce(t *testing.T) {
	var s source
	var found atomic.Int64
	e := s.entry("a", []byte("content"), plain)
	crc := e.CRC32
	e.Checksum = func(context.Context) (uint32, error) { found.Add(1); return crc, nil }
	a := archive(t, literal("m", []byte("<urlset/>")), e, s.entry("b", []byte("b"), plain))
	r := a.NewReader(t.Context(), nil)
	defer r.Close()
	buf := make([]byte, a.Size())
	n, err := r.Read(buf)
	if err != nil || !bytes.HasSuffix(buf[:n], []byte("<urlset/>")) || found.Load() != 0 {
		t.Errorf("%q, %v, %d found out", buf[:n], err, found.Load())
	}
	if m, err := io.ReadFull(r, buf[n:]); err != nil || found.Load() != 1 {
		t.Errorf("%d bytes, %v, %d found out", m, err, found.Load())
	}
	if !bytes.Equal(whole(t, a), buf) || found.Load() != 1 {
		t.Errorf("found out %d times", found.Load())
	}
}

// TestDeferredFails: the next reader retries a failed checksum; no byte of the entry is
// sent before.
func TestDeferredFails(t *testing.T) {
	var s source
	for name, wrong := range map[string]func() (uint32, error){
		"error": func() (uint32, error) { return 0, fs.ErrPermission },
		"panic": func() (uint32, error) { panic(fs.ErrPermission) },
		"other": func() (uint32, error) { return 1, nil },
	} {
		e := s.entry("a", []byte("content"), plain)
		right, fails := e.CRC32, true
		e.Checksum = func(context.Context) (uint32, error) {
			if fails {
				return wrong()
			}
			return right, nil
		}
		a := archive(t, literal("m", []byte("<urlset/>")), e)
		var got bytes.Buffer
		r := a.NewReader(t.Context(), nil)
		_, err := r.WriteTo(&got)
		r.Close()
		failed, ok := errors.AsType[*virtualzip.EntryError](err)
		if !ok || failed.Name != "a" || bytes.Contains(got.Bytes(), []byte("content")) {
			t.Errorf("%s: %v after %q", name, err, got.Bytes())
		}
		if name == "other" {
			continue // and that holds
		}
		fails = false
		if whole := whole(t, a); !bytes.Contains(whole, []byte("content")) {
			t.Errorf("%s: afterwards %q", name, whole)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	e := s.entry("a", []byte("content"), plain)
	e.Checksum = func(ctx context.Context) (uint32, error) {
		cancel()
		<-ctx.Done()
		return 0, errors.New("it was ended")
	}
	r := archive(t, e).NewReader(ctx, nil)
	defer r.Close()
	if _, err := r.WriteTo(io.Discard); err != context.Canceled {
		t.Error(err)
	}
}
