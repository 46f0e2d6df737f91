package server

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A fakeConn records the calls of its methods.
type fakeConn struct {
	tcpConn
	calls  []string
	parts  []int
	direct bool // the operating system could have sent the last part
	buf    bytes.Buffer
}

func (c *fakeConn) SetWriteDeadline(time.Time) error {
	c.calls = append(c.calls, "renew")
	return nil
}

func (c *fakeConn) Write(p []byte) (int, error) {
	c.calls = append(c.calls, "part")
	c.parts = append(c.parts, len(p))
	return c.buf.Write(p)
}

func (c *fakeConn) ReadFrom(r io.Reader) (int64, error) {
	_, c.direct = r.(*io.LimitedReader).R.(*os.File)
	c.calls = append(c.calls, "part")
	n, err := c.buf.ReadFrom(r)
	c.parts = append(c.parts, int(n))
	return n, err
}

// TestWriteDeadlines: the deadline is renewed for each chunk, regardless of the size of a
// write.
func TestWriteDeadlines(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	must(t, err)
	defer file.Close()
	content := strings.Repeat("0123456789abcdef", 3*chunkSize/16)

	for _, test := range []struct {
		size  int
		parts []int
	}{
		{1, []int{1}},
		{chunkSize, []int{chunkSize}},
		{chunkSize + 1, []int{chunkSize, 1}},
		{2*chunkSize + 5, []int{chunkSize, chunkSize, 5}},
	} {
		must(t, file.Truncate(0))
		_, err := file.WriteAt([]byte(content[:test.size]), 0)
		must(t, err)
		for name, write := range map[string]func(c *deadlineConn) (int64, error){
			"Write": func(c *deadlineConn) (int64, error) {
				n, err := c.Write([]byte(content[:test.size]))
				return int64(n), err
			},
			"ReadFrom": func(c *deadlineConn) (int64, error) {
				file.Seek(0, io.SeekStart)
				return c.ReadFrom(file)
			},
			"ReadFrom, limited": func(c *deadlineConn) (int64, error) {
				file.Seek(0, io.SeekStart)
				limited := &io.LimitedReader{R: file, N: int64(test.size)}
				n, err := c.ReadFrom(limited)
				if limited.N != 0 {
					t.Errorf("%d bytes: %d left", test.size, limited.N)
				}
				return n, err
			},
		} {
			var f fakeConn
			n, err := write(&deadlineConn{&f, time.Minute})
			if err != nil || n != int64(test.size) || f.buf.String() != content[:test.size] {
				t.Errorf("%s of %d bytes: %d, %v", name, test.size, n, err)
			}
			// A reader may be called once more, to find its end.
			f.parts = slices.DeleteFunc(f.parts, func(n int) bool { return n == 0 })
			if !slices.Equal(f.parts, test.parts) {
				t.Errorf("%s of %d bytes: in parts of %d", name, test.size, f.parts)
			}
			for i, call := range f.calls {
				if want := []string{"renew", "part"}[i%2]; call != want {
					t.Fatalf("%s of %d bytes: %s", name, test.size, f.calls)
				}
			}
			if strings.HasPrefix(name, "ReadFrom") && !f.direct {
				t.Errorf("%s of %d bytes: not from the file itself", name, test.size)
			}
		}
	}
}

// TestStuckClient: a client that stops reading does not block a handler for ever.
func TestStuckClient(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	result := make(chan error)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write(make([]byte, 64<<20)) // more than a connection holds on the way
		result <- err
	})}
	go server.Serve(deadlineListener{ln, 50 * time.Millisecond})
	defer server.Close()
	conn, err := net.Dial("tcp", ln.Addr().String())
	must(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n")
	must(t, err)
	if err := <-result; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the handler got %v", err)
	}
}
