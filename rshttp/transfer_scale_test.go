package rshttp_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// copies is a set of that many resources with the same content.
type copies struct {
	n       int
	content []byte
	length  resourcesync.Length
	hashes  []resourcesync.Hash
	sum     uint32
}

func copiesOf(n, size int) *copies {
	content := noise(1, size)
	sum := sha256.Sum256(content)
	return &copies{n, content, resourcesync.Bytes(int64(size)),
		[]resourcesync.Hash{{Algorithm: "sha-256", Digest: hex.EncodeToString(sum[:])}}, crc32.ChecksumIEEE(content)}
}

func (c *copies) Resources(_ context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for i := range c.n {
			res := resource(fmt.Sprintf("%06d.bin", i))
			res.Length, res.Hashes = c.length, c.hashes
			if r.Contains(res.Key) && !yield(res, nil) {
				return
			}
		}
	}
}

func (c *copies) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return resourcesync.Stat{Count: int64(c.n), LastModified: newYear, Version: "1"}, nil
}

func (c *copies) Open(context.Context, resourcesync.Resource) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(c.content)), nil
}

func (c *copies) Checksum(context.Context, resourcesync.Resource) (uint32, error) { return c.sum, nil }

// dawdle begins n downloads of the package at srv that read 1 KiB a second each until
// the test ends.
func dawdle(t testing.TB, srv *httptest.Server, n int) {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	for range n {
		c, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: example.org\r\n\r\n", wholePath)
		first := make([]byte, 1024)
		if _, err := io.ReadFull(c, first); err != nil || !bytes.HasPrefix(first, []byte("HTTP/1.1 200")) {
			t.Fatalf("%v: %.100s", err, first)
		}
		go func() {
			for ctx.Err() == nil {
				time.Sleep(time.Second)
				if _, err := io.ReadFull(c, first); err != nil {
					return
				}
			}
		}()
	}
}

// download fetches the package at srv and returns its length.
func download(t testing.TB, srv *httptest.Server) int64 {
	res, err := srv.Client().Get(srv.URL + wholePath)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	n, err := io.CopyBuffer(io.Discard, struct{ io.Reader }{res.Body}, make([]byte, 256<<10))
	if err != nil || n != res.ContentLength {
		t.Fatalf("%s: %d bytes of %d: %v", res.Status, n, res.ContentLength, err)
	}
	return n
}

// TestSlowClients has 64 slow clients and a fast one in a process of its own: the fast
// one is not kept waiting, and memory is bounded. BenchmarkSlowClients compares its
// speed with that of a lone client.
func TestSlowClients(t *testing.T) {
	needs.Time(t)
	const bound = 100
	if os.Getenv("RSHTTP_TEST_TRANSFERS") != "" {
		srv := httptest.NewServer(newSource(t, &rshttp.Options{Division: rshttp.Division{PackageSize: 1 << 30}, Limits: rshttp.Limits{Transfers: 65, ClientTransfers: 65}}, rshttp.Set{Provider: copiesOf(10_000, 50_000)}))
		defer srv.Close()
		dawdle(t, srv, 64)
		if n := download(t, srv); n < 500_000_000 {
			t.Errorf("%d bytes", n)
		}
		mib := peakMemory(t)
		t.Logf("peak resident memory: %d MiB", mib)
		if mib >= bound {
			t.Errorf("resident memory %d MiB, must stay under %d", mib, bound)
		}
		srv.CloseClientConnections()
		return
	}
	if raceEnabled {
		t.Skip("the race detector takes memory of its own; the test runs without it")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSlowClients$", "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), "RSHTTP_TEST_TRANSFERS=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// BenchmarkSlowClients downloads a package alone and, in the same rounds, from a server
// with 64 clients that read 1 KiB a second. The metric is the ratio to the lone speed.
func BenchmarkSlowClients(b *testing.B) {
	src := newSource(b, &rshttp.Options{Division: rshttp.Division{PackageSize: 1 << 30}, Limits: rshttp.Limits{Transfers: 65, ClientTransfers: 65}}, rshttp.Set{Provider: copiesOf(1000, 100_000)})
	alone, crowded := httptest.NewServer(src), httptest.NewServer(src)
	b.Cleanup(alone.Close)
	b.Cleanup(crowded.CloseClientConnections)
	dawdle(b, crowded, 64)
	compare(b, "of-lone-speed", func() { download(b, alone) }, func() { download(b, crowded) })
}

// BenchmarkLayOut lays out an ordinary full package, of 1,000 resources whose checksums are
// known.
func BenchmarkLayOut(b *testing.B) {
	set := rshttp.Set{Provider: copiesOf(1000, 16_000)}
	for b.Loop() {
		if res := do(b, newSource(b, nil, set), http.MethodHead, wholePath); res.StatusCode != 200 {
			b.Fatal(res.Status)
		}
	}
}
