package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// A sink is a server at many addresses that reads deliveries and answers 204.
type sink struct {
	server http.Server
	port   int
	got    atomic.Int64
}

func newSink(tb testing.TB) *sink {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &sink{port: l.Addr().(*net.TCPAddr).Port}
	s.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n, err := io.Copy(io.Discard, r.Body); err == nil && n == r.ContentLength && r.Header.Get("X-Hub-Signature") != "" {
			s.got.Add(1)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	go s.server.Serve(l)
	tb.Cleanup(func() { s.server.Close() })
	return s
}

// host is the i-th host of the sink.
func (s *sink) host(i int) string {
	return fmt.Sprintf("127.%d.%d.%d:%d", 1+i/62500, i/250%250, 1+i%250, s.port)
}

func (s *sink) await(tb testing.TB, n int64) {
	for end := time.Now().Add(time.Minute); s.got.Load() < n; time.Sleep(200 * time.Microsecond) {
		if time.Now().After(end) {
			tb.Fatalf("%d of %d after a minute", s.got.Load(), n)
		}
	}
}

const (
	benchHosts    = 1000
	benchMessages = 20
	benchWorkers  = 512
)

func benchBody(round, i int) string {
	return fmt.Sprintf("<!-- %d %d -->%s", round, i, bytes.Repeat([]byte("x"), 2000))
}

func benchSecret(i int) string { return fmt.Sprintf("secret-%d-of-a-usual-length-0123456789", i) }

// BenchmarkDeliver delivers signed messages of 2 KB to 1,000 hosts, in turn by a hub
// and by as many goroutines with a http.Client and no state. It reports the median
// deliveries per second of both, and their ratio.
func BenchmarkDeliver(b *testing.B) { CompareDeliveries(b, pushlog.NewMemory()) }

// CompareDeliveries is BenchmarkDeliver with another store.
func CompareDeliveries(b *testing.B, store pushlog.Log) {
	s := newSink(b)
	o := deliveryOptions()
	o.Workers = benchWorkers
	h := deliveryHub(b, store, o)
	for i := range benchHosts {
		subscribed(b, store, "http://"+s.host(i)+"/callback", benchSecret(i), time.Hour)
	}
	start(b, h)
	plain := newPlain(s)
	round := 0
	run := func(deliver func(round int)) float64 {
		round++
		want := s.got.Load() + benchHosts*benchMessages
		began := time.Now()
		deliver(round)
		s.await(b, want)
		return benchHosts * benchMessages / time.Since(began).Seconds()
	}
	hub := func(round int) {
		for i := range benchMessages {
			publish(b, h, benchBody(round, i))
		}
	}
	run(hub)
	run(plain.deliver)
	var ours, theirs, ratios []float64
	for b.Loop() {
		time.Sleep(600 * time.Millisecond) // what is left to do for the last round is not for this one
		ours = append(ours, run(hub))
		time.Sleep(600 * time.Millisecond)
		theirs = append(theirs, run(plain.deliver))
		ratios = append(ratios, ours[len(ours)-1]/theirs[len(theirs)-1])
	}
	b.ReportMetric(median(ours), "hub/s")
	b.ReportMetric(median(theirs), "plain/s")
	b.ReportMetric(median(ratios), "ratio")
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// plain is a client without state: each goroutine posts to its own hosts, in turn.
type plain struct {
	sink   *sink
	client *http.Client
}

func newPlain(s *sink) *plain {
	return &plain{s, &http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{}).DialContext,
			MaxIdleConns:        2 * benchHosts,
			MaxIdleConnsPerHost: 8,
			DisableCompression:  true,
		},
	}}
}

func (p *plain) deliver(round int) {
	var group sync.WaitGroup
	for g := range benchWorkers {
		group.Go(func() {
			for m := range benchMessages {
				body := []byte(benchBody(round, m))
				for i := g; i < benchHosts; i += benchWorkers {
					if err := p.post(i, body); err != nil {
						panic(err)
					}
				}
			}
		})
	}
	group.Wait()
}

func (p *plain) post(i int, body []byte) error {
	r, err := http.NewRequestWithContext(context.Background(), "POST", "http://"+p.sink.host(i)+"/callback", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/xml")
	r.Header.Set("Link", `<https://example.org/change/>; rel="self", <https://hub.example/websub/>; rel="hub"`)
	r.Header.Set("X-Hub-Signature", sign("sha256", []byte(benchSecret(i)), body))
	resp, err := p.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return errors.New(resp.Status)
	}
	return nil
}
