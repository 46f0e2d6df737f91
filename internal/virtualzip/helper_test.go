package virtualzip_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

var when = time.Date(2026, time.March, 1, 12, 30, 14, 0, time.UTC)

// list yields entries as New wants them.
func list(entries ...virtualzip.Entry) iter.Seq2[virtualzip.Entry, error] {
	return func(yield func(virtualzip.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func archive(tb testing.TB, entries ...virtualzip.Entry) *virtualzip.Archive {
	tb.Helper()
	a, err := virtualzip.New(list(entries...))
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// whole reads the package from beginning to end.
func whole(tb testing.TB, a *virtualzip.Archive) []byte {
	tb.Helper()
	r := a.NewReader(tb.Context(), nil)
	defer r.Close()
	var b bytes.Buffer
	b.Grow(int(a.Size()))
	if _, err := r.WriteTo(&b); err != nil {
		tb.Fatal(err)
	}
	if int64(b.Len()) != a.Size() {
		tb.Fatalf("read %d bytes of %d", b.Len(), a.Size())
	}
	return b.Bytes()
}

func random(seed uint64, n int) []byte {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	b := make([]byte, n)
	rand.NewChaCha8(key).Read(b)
	return b
}

// A source makes readers of the kinds that an Entry may open, and counts them.
type source struct{ open, most, total atomic.Int64 }

type opened struct {
	io.Reader
	s *source
}

func (o opened) Close() error {
	o.s.open.Add(-1)
	return nil
}

// The kinds of readers.
const (
	plain    = iota // cannot seek
	halting         // gives half of what is asked for, and the error with the last byte
	seeker          // is an io.Seeker
	readerAt        // is an io.ReaderAt only
	kinds
)

func (s *source) opener(content []byte, kind int) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) {
		s.total.Add(1)
		s.most.Store(max(s.most.Load(), s.open.Add(1)))
		r := bytes.NewReader(content)
		switch kind {
		case halting:
			return opened{iotest.DataErrReader(iotest.HalfReader(r)), s}, nil
		case seeker:
			return struct {
				opened
				io.Seeker
			}{opened{r, s}, r}, nil
		case readerAt:
			return struct {
				opened
				io.ReaderAt
			}{opened{r, s}, r}, nil
		default:
			return opened{r, s}, nil
		}
	}
}

// entry returns an entry for content that is opened as kind.
func (s *source) entry(name string, content []byte, kind int) virtualzip.Entry {
	return virtualzip.Entry{
		Name:     name,
		Modified: when,
		Size:     int64(len(content)),
		CRC32:    crc32.ChecksumIEEE(content),
		Open:     s.opener(content, kind),
	}
}

// literal returns an entry for content in memory.
func literal(name string, content []byte) virtualzip.Entry {
	return new(source).entry(name, content, seeker)
}

// file writes content to a file and returns the entry for it.
func file(tb testing.TB, name, path string, content []byte) virtualzip.Entry {
	tb.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatal(err)
	}
	return virtualzip.Entry{
		Name:     name,
		Modified: when,
		Size:     int64(len(content)),
		CRC32:    crc32.ChecksumIEEE(content),
		Open:     func(context.Context) (io.ReadCloser, error) { return os.Open(path) },
	}
}
