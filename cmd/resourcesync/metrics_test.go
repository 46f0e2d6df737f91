package main

import (
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	client "github.com/prometheus/client_golang/prometheus"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/operators"
)

// TestMetrics: only operators can scrape the metrics of the process.
func TestMetrics(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.txt"), "a")
	s := startReady(t, folder, "--status", "127.0.0.1:0")
	s.write("b.txt", "b")
	s.stderr.await("changes found")
	s.get(publicURL + "resourcesync/changelist.xml")
	operators := s.stderr.await(`status for operators.* url=(\S+)`)[1]
	want := []string{
		`resourcesync_healthy 1`,
		`resourcesync_set_resources{set=""} 2`,
		`resourcesync_scans_total{result="success",set=""} 1`,
		`resourcesync_requests_total{code="200",document="changelist",set=""} 1`,
		`resourcesync_subscriptions 0`,
	}
	var got []string
	s.until("the change is counted", func() bool {
		res, body := s.get(operators + "metrics")
		if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") || res.Header.Get("Cache-Control") != "no-store" {
			t.Fatalf("%s %v", res.Status, res.Header)
		}
		got = strings.Split(body, "\n")
		return slices.Contains(got, `resourcesync_scan_changes_total{change="created",set=""} 2`)
	})
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("no line %s", line)
		}
	}
	for _, name := range []string{"go_goroutines", "process_resident_memory_bytes"} {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, name+" ") }) {
			t.Errorf("no metric %s", name)
		}
	}
	if res, _ := s.get(publicURL + "metrics"); res.StatusCode != 404 {
		t.Errorf("the public address answers %s", res.Status)
	}
}

// TestMetricsTimeout: a metric that cannot be read, such as the size of a file on a dead server,
// does not block scrapes for ever.
func TestMetricsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan struct{})
		mux := operators.Handler(nil, client.NewGaugeFunc(client.GaugeOpts{Name: "stuck"}, func() float64 { <-gone; return 1 }))
		scrape := func() *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
			return w
		}
		begin := time.Now()
		for range 3 {
			if w := scrape(); w.Code != 503 || time.Since(begin) > 2*operators.Timeout {
				t.Errorf("%d %s after %v", w.Code, w.Body, time.Since(begin))
			}
		}
		close(gone)
		synctest.Wait()
		if w := scrape(); w.Code != 200 || !strings.Contains(w.Body.String(), "stuck 1") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
