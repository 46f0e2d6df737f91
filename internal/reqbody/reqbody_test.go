package reqbody

import (
	"bufio"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// serve sends raw to a server of h that has no time-outs of its own, and returns the
// responses, the time until the connection ended or all requests were answered, and
// whether it ended.
func serve(t *testing.T, h http.HandlerFunc, raw string, answers int) (got []*http.Response, took time.Duration, ended bool) {
	t.Helper()
	listener := make(pipes, 1)
	server := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	stopped := make(chan error)
	go func() { stopped <- server.Serve(listener) }()
	near, far := net.Pipe()
	listener <- far
	begun := time.Now()
	go near.Write([]byte(raw))
	r := bufio.NewReader(near)
	for range answers {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			break
		}
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Error(err)
		}
		res.Body = io.NopCloser(strings.NewReader(string(text)))
		got = append(got, res)
	}
	took = time.Since(begun)
	near.SetReadDeadline(time.Now().Add(time.Second))
	_, err := r.ReadByte()
	ended = errors.Is(err, io.EOF)
	near.Close()
	close(listener)
	server.Close()
	<-stopped
	return got, took, ended
}

type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestD18_NoBody sends raw requests to a handler that takes no body.
func TestD18_NoBody(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		if !None(w, r) {
			return
		}
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		io.WriteString(w, strings.Repeat("x", 10_000)) // more than net/http holds back
	}
	for name, tt := range map[string]struct {
		raw    string
		status []int
		within time.Duration
		ended  bool
	}{
		"none":                      {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", []int{200}, 0, false},
		"empty":                     {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", []int{200}, 0, false},
		"small":                     {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx", []int{200}, 0, false},
		"chunked, empty":            {"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", []int{200}, 0, false},
		"pipelined":                 {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nxGET / HTTP/1.1\r\nHost: x\r\n\r\n", []int{200, 200}, 0, false},
		"missing":                   {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n", []int{400}, discardTime, true},
		"missing, expected":         {"GET / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", []int{100, 400}, discardTime, true},
		"missing, of POST":          {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n", []int{405}, discardTime, true},
		"missing chunk":             {"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n", []int{400}, discardTime, true},
		"long":                      {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n", []int{400}, 0, true},
		"long, of POST":             {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n", []int{405}, 0, true},
		"long chunks":               {"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1000\r\n"+strings.Repeat("x", 0x1000)+"\r\n", 20), []int{400}, time.Second, true},
		"a request is not smuggled": {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", []int{400}, time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, took, ended := serve(t, h, tt.raw, len(tt.status))
				var status []int
				for _, res := range got {
					status = append(status, res.StatusCode)
				}
				if len(status) != len(tt.status) || status[0] != tt.status[0] || status[len(status)-1] != tt.status[len(status)-1] {
					t.Errorf("answered %d, want %d", status, tt.status)
				}
				if took > tt.within {
					t.Errorf("it took %v", took)
				}
				if ended != tt.ended {
					t.Errorf("connection ended: %v", ended)
				}
			})
		})
	}
}

// TestD18_ContextLives: the deadline of a body that has arrived does not end the
// request.
func TestD18_ContextLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, _, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if !None(w, r) {
				return
			}
			select {
			case <-r.Context().Done():
				w.WriteHeader(http.StatusTeapot)
			case <-time.After(time.Hour):
			}
		}, "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx", 1)
		if len(got) != 1 || got[0].StatusCode != http.StatusOK {
			t.Errorf("answered %v", got)
		}
	})
}

// TestD18_OtherStreams: a stream of an HTTP/2 connection that sends nothing does not
// affect the others.
func TestD18_OtherStreams(t *testing.T) {
	begun := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/upload" { // as a host takes it
			close(begun)
			n, err := io.Copy(io.Discard, r.Body)
			if err != nil || n != 2 {
				t.Errorf("uploaded %d bytes, %v", n, err)
			}
			return
		}
		None(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	client := server.Client()
	do := func(method, path string, b io.Reader) int {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, b)
		if err != nil {
			t.Error(err)
			return 0
		}
		res, err := client.Do(r)
		if err != nil {
			t.Error(err)
			return 0
		}
		defer res.Body.Close()
		if res.ProtoMajor != 2 {
			t.Errorf("%s", res.Proto)
		}
		return res.StatusCode
	}
	upload, rest := io.Pipe()
	uploaded := make(chan int)
	go func() { uploaded <- do("POST", "/upload", upload) }()
	rest.Write([]byte("x"))
	<-begun
	never, _ := io.Pipe()
	if status := do("GET", "/", never); status != http.StatusBadRequest {
		t.Errorf("answered %d", status)
	}
	rest.Write([]byte("x"))
	rest.Close()
	if status := <-uploaded; status != http.StatusOK {
		t.Errorf("the upload was answered %d", status)
	}
}

// TestD18_NoDeadlines: where a body cannot be bounded, it is not read.
func TestD18_NoDeadlines(t *testing.T) {
	never, _ := io.Pipe()
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", never)
	if None(w, r) || w.Code != http.StatusBadRequest || w.Header().Get("Connection") != "close" {
		t.Errorf("answered %d %v", w.Code, w.Header())
	}
}
