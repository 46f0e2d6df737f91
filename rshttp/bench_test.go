package rshttp_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/rshttp"
)

// compare times a and base in turn, so that disturbances of the machine affect both,
// and reports the ratio of their medians.
func compare(b *testing.B, name string, a, base func()) {
	a() // what is made once is made now
	base()
	var as, bases []time.Duration
	for b.Loop() {
		as = append(as, timed(a))
		bases = append(bases, timed(base))
	}
	slices.Sort(as)
	slices.Sort(bases)
	b.ReportMetric(float64(as[len(as)/2])/float64(bases[len(bases)/2]), name)
}

func timed(f func()) time.Duration {
	started := time.Now()
	f()
	return time.Since(started)
}

// BenchmarkServe asks a real server, with 16 connections, for a document that is
// kept, and for the same bytes from a handler that does nothing but write them.
// The metric is the ratio of the two request rates.
func BenchmarkServe(b *testing.B) {
	src := newSource(b, nil, rshttp.Set{Provider: numbers(10_000)})
	for name, path := range map[string]string{
		"page":  "/resourcesync/resourcelist.xml",
		"small": "/resourcesync/capabilitylist.xml",
	} {
		body, err := io.ReadAll(get(b, src, path, "Accept-Encoding", "gzip").Body)
		if err != nil {
			b.Fatal(err)
		}
		length := strconv.Itoa(len(body))
		bare := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := w.Header()
			h.Set("Content-Type", "application/xml")
			h.Set("Content-Encoding", "gzip")
			h.Set("Content-Length", length)
			w.Write(body)
		})
		b.Run(name, func(b *testing.B) {
			ours, base := loader(b, src, path, body), loader(b, bare, path, body)
			compare(b, "bare/ours", base, ours)
		})
	}
}

// loader returns a function that makes a round of requests over 16 connections.
func loader(b *testing.B, h http.Handler, path string, want []byte) func() {
	srv := httptest.NewServer(h)
	b.Cleanup(srv.Close)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true}}
	requests := max(4, 4<<20/(len(want)+8<<10))
	return func() {
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				buf := make([]byte, 64<<10)
				for i := range requests {
					req, err := http.NewRequest(http.MethodGet, srv.URL+path, nil)
					if err != nil {
						b.Error(err)
						return
					}
					req.Header.Set("Accept-Encoding", "gzip")
					res, err := client.Do(req)
					if err != nil {
						b.Error(err)
						return
					}
					if i == 0 {
						got, err := io.ReadAll(res.Body)
						if err != nil || !bytes.Equal(got, want) {
							b.Error("not the document asked for", err)
						}
					} else if n, err := io.CopyBuffer(io.Discard, res.Body, buf); err != nil || n != int64(len(want)) {
						b.Error(n, err)
					}
					res.Body.Close()
				}
			})
		}
		wg.Wait()
	}
}
