package sidecar_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sidecar"

	"github.com/resourcesync-go/resourcesync/internal/testmain"
)

// roles are the servers that the benchmarks compare, each in a process of its own.
var roles = map[string]func(upstream string) http.Handler{
	"upstream": func(string) http.Handler {
		body := []byte("<!DOCTYPE html>\n<html><head><title>A page</title></head>\n" + strings.Repeat("<p>two kilobytes of a page</p>\n", 66))
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(body)
		})
	},
	"bare": func(upstream string) http.Handler {
		target, err := url.Parse(upstream)
		if err != nil {
			panic(err)
		}
		return &httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
			Transport:     sidecar.NewTransport(upstream, "https://example.org/"),
			FlushInterval: 5 * time.Millisecond,
			BufferPool:    &bufferPool{},
		}
	},
	"sidecar": func(upstream string) http.Handler {
		return benchSidecar(upstream, &sidecar.Options{Changed: func(...*url.URL) {}})
	},
	"links": func(upstream string) http.Handler {
		return benchSidecar(upstream, &sidecar.Options{HTMLLink: true, Changed: func(...*url.URL) {}})
	},
}

func benchSidecar(upstream string, o *sidecar.Options) http.Handler {
	proxy, err := sidecar.NewProxy(upstream, "https://example.org/", nil)
	if err != nil {
		panic(err)
	}
	return sidecar.Wrap(proxy, newSource(benchTB{}), o)
}

// A benchTB fails in a process that runs no test.
type benchTB struct{ testing.TB }

func (benchTB) Helper()           {}
func (benchTB) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

type bufferPool struct{ pool sync.Pool }

func (b *bufferPool) Get() []byte {
	if p, ok := b.pool.Get().(*[32 << 10]byte); ok {
		return p[:]
	}
	return make([]byte, 32<<10)
}

func (b *bufferPool) Put(p []byte) { b.pool.Put((*[32 << 10]byte)(p)) }

const roleVariable = "RESOURCESYNC_BENCH_ROLE"

func TestMain(m *testing.M) {
	role, upstream, _ := strings.Cut(os.Getenv(roleVariable), " ")
	if role == "" {
		os.Exit(testmain.Run(m))
	}
	slog.SetLogLoggerLevel(slog.LevelError)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(ln.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the benchmark ends
		os.Exit(0)
	}()
	panic(http.Serve(ln, roles[role](upstream)))
}

// start runs a role and returns its address and process.
func start(b *testing.B, role, upstream string) (string, *os.Process) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role+" "+upstream)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { stdin.Close(); _ = cmd.Wait() })
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(address), cmd.Process
}

// startNginx runs nginx with proxy_pass, or returns "" if it is not installed.
func startNginx(b *testing.B, upstream string) string {
	b.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		return ""
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := ln.Addr().String()
	ln.Close()
	folder := b.TempDir()
	config := filepath.Join(folder, "nginx.conf")
	err = os.WriteFile(config, fmt.Appendf(nil, `daemon off; worker_processes auto; pid %[1]s/pid; error_log %[1]s/error.log;
events { worker_connections 1024; }
http {
	access_log off; client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s; keepalive_requests 1000000000;
	upstream site { server %[2]s; keepalive 64; keepalive_requests 1000000000; }
	server { listen %[3]s; location / { proxy_pass http://site; proxy_http_version 1.1; proxy_set_header Connection ""; } }
}`, folder, upstream, address), 0o600)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(program, "-c", config, "-p", folder)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() })
	for range 100 {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return address
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.Fatal("nginx does not listen")
	return ""
}

// load asks address again and again over connections for a while, and returns the rate
// and the 99th percentile of the times.
func load(b *testing.B, address string, connections int, span time.Duration) (perSecond float64, p99 time.Duration) {
	b.Helper()
	var (
		mu  sync.Mutex
		all []time.Duration
		wg  sync.WaitGroup
	)
	began := time.Now()
	for range connections {
		wg.Go(func() {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			br := bufio.NewReaderSize(conn, 8<<10)
			var took []time.Duration
			for last := time.Now(); last.Sub(began) < span; {
				_, err := io.WriteString(conn, "GET /page?id=17 HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\n\r\n")
				if err == nil {
					var res *http.Response
					if res, err = http.ReadResponse(br, nil); err == nil {
						_, err = io.Copy(io.Discard, res.Body)
					}
				}
				if err != nil {
					b.Error(err)
					return
				}
				now := time.Now()
				took = append(took, now.Sub(last))
				last = now
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
		})
	}
	wg.Wait()
	slices.Sort(all)
	if len(all) == 0 {
		b.FailNow()
	}
	return float64(len(all)) / time.Since(began).Seconds(), all[len(all)*99/100]
}

// BenchmarkProxy compares the sidecar, without and with links in HTML pages, with a bare tuned
// ReverseProxy and, where it is installed, with nginx, in alternating rounds. Each iteration is
// a round.
func BenchmarkProxy(b *testing.B) {
	upstream, _ := start(b, "upstream", "")
	addresses := map[string]string{}
	addresses["bare"], _ = start(b, "bare", "http://"+upstream)
	addresses["sidecar"], _ = start(b, "sidecar", "http://"+upstream)
	addresses["links"], _ = start(b, "links", "http://"+upstream)
	if nginx := startNginx(b, upstream); nginx != "" {
		addresses["nginx"] = nginx
	}
	names := []string{"bare", "sidecar", "links", "nginx"}
	const span = 400 * time.Millisecond
	rates, slowest := map[string][]float64{}, map[string][]float64{}
	for _, name := range names {
		if addresses[name] != "" {
			load(b, addresses[name], 16, span)
		}
	}
	for b.Loop() {
		for _, name := range names {
			if addresses[name] == "" {
				continue
			}
			rate, p99 := load(b, addresses[name], 16, span)
			rates[name] = append(rates[name], rate)
			slowest[name] = append(slowest[name], p99.Seconds())
		}
	}
	b.ReportMetric(median(rates["sidecar"]), "requests/s")
	b.ReportMetric(median(rates["sidecar"])/median(rates["bare"]), "×bare")
	b.ReportMetric(median(slowest["sidecar"])/median(slowest["bare"]), "p99×bare")
	b.ReportMetric(median(rates["links"])/median(rates["bare"]), "links×bare")
	b.ReportMetric(median(slowest["links"])/median(slowest["bare"]), "links-p99×bare")
	b.ReportMetric(1000*median(slowest["links"]), "links-p99-ms")
	if rates["nginx"] != nil {
		b.ReportMetric(median(rates["sidecar"])/median(rates["nginx"]), "×nginx")
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// BenchmarkIdle measures the cost of an idle connection, beyond a bare ReverseProxy.
func BenchmarkIdle(b *testing.B) {
	const connections = 2000
	upstream, _ := start(b, "upstream", "")
	used := map[string]float64{}
	for b.Loop() {
		for _, role := range []string{"bare", "sidecar"} {
			address, process := start(b, role, "http://"+upstream)
			before := resident(b, process.Pid)
			var conns []net.Conn
			for range connections {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					b.Fatal(err)
				}
				conns = append(conns, conn)
				_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n")
				res, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, res.Body)
			}
			used[role] = float64(resident(b, process.Pid)-before) / connections
			for _, conn := range conns {
				conn.Close()
			}
		}
	}
	b.ReportMetric(used["sidecar"], "B/connection")
	b.ReportMetric(used["sidecar"]-used["bare"], "B/connection-over-bare")
}

// resident returns the resident memory of a process, in bytes.
func resident(b *testing.B, pid int) int64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		b.Skip("resident memory is read from /proc")
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		b.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
