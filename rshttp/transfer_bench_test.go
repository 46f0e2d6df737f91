package rshttp_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"

	"github.com/resourcesync-go/resourcesync/internal/testmain"
)

// beFetcher makes a process of this test a client.
const beFetcher = "RSHTTP_TEST_FETCHER"

func TestMain(m *testing.M) {
	if os.Getenv(beFetcher) != "" {
		fetchAll(os.Stdin, os.Stdout)
		os.Exit(0)
	}
	os.Exit(testmain.Run(m))
}

// fetchAll reads addresses, requests a package from each, and writes how many bytes it
// received until the connection ended. It does as little as a client can.
func fetchAll(in io.Reader, out io.Writer) {
	buf := make([]byte, 256<<10)
	for addresses := bufio.NewScanner(in); addresses.Scan(); {
		var n int64
		c, err := net.Dial("tcp", addresses.Text())
		if err == nil {
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n", wholePath)
			n, _ = io.CopyBuffer(io.Discard, struct{ io.Reader }{c}, buf)
			c.Close()
		}
		fmt.Fprintln(out, n)
	}
}

// startFetcher starts a client and returns a function that has it fetch an address,
// which must yield at least a number of bytes.
func startFetcher(b *testing.B) func(address string, least int64) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), beFetcher+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	answers := bufio.NewReader(out)
	return func(address string, least int64) {
		fmt.Fprintln(in, address)
		var n int64
		if _, err := fmt.Fscanln(answers, &n); err != nil || n < least {
			b.Fatalf("%d bytes, %v", n, err)
		}
	}
}

// BenchmarkPackage has another process download files as a package and, in the same
// rounds, one after the other by io.Copy into a socket. The metric is the ratio to the
// latter's speed.
func BenchmarkPackage(b *testing.B) {
	for _, files := range []struct{ count, size int }{{200, 1 << 20}, {10_000, 20_000}} {
		b.Run(fmt.Sprint(files.size), func(b *testing.B) {
			c := &filed{copiesOf(files.count, files.size), b.TempDir()}
			for i := range files.count {
				if err := os.WriteFile(filepath.Join(c.dir, fmt.Sprintf("%06d.bin", i)), c.content, 0o600); err != nil {
					b.Fatal(err)
				}
			}
			srv := httptest.NewServer(newSource(b, &rshttp.Options{Division: rshttp.Division{PackageSize: 1 << 30}}, rshttp.Set{Provider: c}))
			b.Cleanup(srv.Close)
			total := int64(files.count * files.size)
			b.SetBytes(total)
			fetch := startFetcher(b)
			ours, plain := srv.Listener.Addr().String(), c.plainly(b)
			compare(b, "of-plain-copy", func() { fetch(plain, total) }, func() { fetch(ours, total) })
		})
	}
}

// filed has its copies in files.
type filed struct {
	*copies
	dir string
}

func (f *filed) Open(_ context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	return os.Open(filepath.Join(f.dir, r.Key))
}

// plainly serves the files to any client and returns the address.
func (f *filed) plainly(b *testing.B) string {
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
			f.copyTo(b, c)
			c.Close()
		}
	}()
	return l.Addr().String()
}

func (f *filed) copyTo(b *testing.B, c net.Conn) {
	request := make([]byte, 1024)
	if n, err := c.Read(request); err != nil || !bytes.HasSuffix(request[:n], []byte("\r\n\r\n")) {
		b.Errorf("%q, %v", request[:n], err)
	}
	for i := range f.n {
		file, err := os.Open(filepath.Join(f.dir, fmt.Sprintf("%06d.bin", i)))
		if err != nil {
			b.Error(err)
			return
		}
		if _, err := io.Copy(c, file); err != nil {
			b.Error(err)
		}
		file.Close()
	}
}
