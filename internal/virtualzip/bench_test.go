package virtualzip_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// compare times a and base in turn, so that disturbances of the machine affect both,
// and reports the ratio of the medians: the share of the base's speed that a reaches.
func compare(b *testing.B, a, base func()) {
	a() // what is made once is made now
	base()
	var as, bases []time.Duration
	for b.Loop() {
		as = append(as, timed(a))
		bases = append(bases, timed(base))
	}
	slices.Sort(as)
	slices.Sort(bases)
	b.ReportMetric(float64(bases[len(bases)/2])/float64(as[len(as)/2]), "of-plain-copy")
}

func timed(f func()) time.Duration {
	started := time.Now()
	f()
	return time.Since(started)
}

// BenchmarkThroughput sends files over loopback as a package and, in the same rounds,
// one after the other by io.Copy, which uses sendfile. The metric is the ratio to the
// latter's speed.
func BenchmarkThroughput(b *testing.B) {
	for _, files := range []struct{ count, size int }{{64, 1 << 20}, {2000, 20_000}} {
		dir := b.TempDir()
		var entries []virtualzip.Entry
		for i := range files.count {
			name := fmt.Sprint(i)
			entries = append(entries, file(b, name, filepath.Join(dir, name), random(uint64(i), files.size)))
		}
		a := archive(b, entries...)
		plain := func(w io.Writer) error {
			for i := range files.count {
				f, err := os.Open(filepath.Join(dir, fmt.Sprint(i)))
				if err != nil {
					return err
				}
				if _, err := io.Copy(w, f); err != nil {
					return err
				}
				f.Close()
			}
			return nil
		}
		b.Run(fmt.Sprintf("socket/%d", files.size), func(b *testing.B) {
			ours := func(w io.Writer) error {
				r := a.NewReader(b.Context(), nil)
				defer r.Close()
				_, err := r.WriteTo(w)
				return err
			}
			compare(b, overSocket(b, ours, a.Size()), overSocket(b, plain, int64(files.count*files.size)))
		})
		b.Run(fmt.Sprintf("http/%d", files.size), func(b *testing.B) {
			ours := func(w http.ResponseWriter, req *http.Request) {
				r := a.NewReader(req.Context(), nil)
				defer r.Close()
				w.Header().Set("Content-Type", "application/zip")
				http.ServeContent(pieces{w}, req, "", time.Time{}, r)
			}
			compare(b, overHTTP(b, ours), overSocket(b, plain, int64(files.count*files.size)))
		})
	}
}

// overSocket returns a function that sends what send writes over a connection.
func overSocket(b *testing.B, send func(io.Writer) error, size int64) func() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if err := send(c); err != nil {
				b.Error(err)
			}
			c.Close()
		}
	}()
	return func() {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		if n := drain(b, c); n != size {
			b.Fatalf("%d bytes, not %d", n, size)
		}
	}
}

func overHTTP(b *testing.B, h http.HandlerFunc) func() {
	srv := httptest.NewServer(h)
	b.Cleanup(srv.Close)
	client := srv.Client()
	return func() {
		res, err := client.Get(srv.URL)
		if err != nil {
			b.Fatal(err)
		}
		defer res.Body.Close()
		if n := drain(b, res.Body); n != res.ContentLength {
			b.Fatalf("%d bytes, not %d", n, res.ContentLength)
		}
	}
}

func drain(b *testing.B, r io.Reader) (n int64) {
	buf := make([]byte, 256<<10)
	for {
		m, err := r.Read(buf)
		n += int64(m)
		if err == io.EOF {
			return n
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNew lays out a package of 50,000 entries. held/entry is the memory that each
// of them keeps, beyond the references of its Open.
func BenchmarkNew(b *testing.B) {
	entries := make([]virtualzip.Entry, 50_000)
	open := func(context.Context) (io.ReadCloser, error) { return nil, os.ErrNotExist }
	for i := range entries {
		name := virtualzip.Name("resources", fmt.Sprintf("https://example.org/papers/%06d.pdf", i))
		entries[i] = virtualzip.Entry{Name: name, Modified: time.Unix(1e9, 0), Size: 20_000, Open: open}
	}
	b.ReportAllocs()
	var a *virtualzip.Archive
	for b.Loop() {
		a = archive(b, entries...)
	}
	with := heap()
	runtime.KeepAlive(a)
	a = nil
	b.ReportMetric(float64(with-heap())/float64(len(entries)), "held-B/entry")
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
