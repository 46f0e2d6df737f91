package prometheus_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/prometheus"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
	"github.com/resourcesync-go/resourcesync/topic/websocket"
)

// newYear is the time of every change.
var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func papers(t testing.TB, keys ...string) *memory.Set {
	t.Helper()
	now := newYear
	set := memory.New(&memory.Options{Now: func() time.Time { return now }})
	for _, k := range keys {
		now = now.Add(time.Second)
		if err := set.Put(t.Context(), resourcesync.Resource{Key: k, URI: "https://example.org/papers/" + k}); err != nil {
			t.Fatal(err)
		}
	}
	return set
}

// observed returns a Source of two sets with everything that has metrics, and its metrics.
func observed(t testing.TB, o rshttp.Options, hubs ...topic.RemoteHub) (*rshttp.Source, *prometheus.Metrics) {
	t.Helper()
	m := prometheus.New()
	feed, err := websocket.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Observe, o.Hub, o.WebSocket = m.Observe, &hub.Options{}, feed
	o.Logger = slog.New(slog.DiscardHandler)
	src, err := rshttp.New("https://example.org/rs/", []rshttp.Set{
		{Name: "papers", Provider: papers(t, "a", "b"), RemoteHubs: hubs},
		{Name: "empty", Provider: papers(t)},
	}, &o)
	if err != nil {
		t.Fatal(err)
	}
	m.Attach(src)
	return src, m
}

func get(t testing.TB, h http.Handler, path string, header ...string) {
	t.Helper()
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	h.ServeHTTP(httptest.NewRecorder(), r)
}

// abandon requests path for a client that leaves while it reads the response.
func abandon(t testing.TB, h http.Handler, path string) {
	defer func() {
		if err := recover(); err != http.ErrAbortHandler {
			t.Errorf("panic: %v", err)
		}
	}()
	h.ServeHTTP(gone{httptest.NewRecorder()}, httptest.NewRequest("GET", path, nil))
}

type gone struct{ *httptest.ResponseRecorder }

func (gone) Write([]byte) (int, error) { return 0, errors.New("connection reset") }

// run runs src until the returned function is called.
func run(t testing.TB, src *rshttp.Source) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- src.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// await waits until the status of push is as wanted.
func await(t testing.TB, src *rshttp.Source, wanted func(topic.Status) bool) {
	t.Helper()
	for {
		status, err := src.PushStatus(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if wanted(status) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// scrape returns the samples of m as Prometheus gets them.
func scrape(t testing.TB, m *prometheus.Metrics) []string {
	t.Helper()
	registry := client.NewPedanticRegistry()
	if err := registry.Register(m); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatal(w.Body)
	}
	var samples []string
	for line := range strings.Lines(w.Body.String()) {
		if !strings.HasPrefix(line, "#") {
			samples = append(samples, strings.TrimSpace(line))
		}
	}
	return samples
}

// wanted fails the test unless m has exactly the samples of the named metrics.
func wanted(t *testing.T, m *prometheus.Metrics, want string, names ...string) {
	t.Helper()
	if got := samples(t, m, names...); got != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// samples returns the samples of m with these names, one per line.
func samples(t *testing.T, m *prometheus.Metrics, names ...string) string {
	t.Helper()
	var got []string
	for _, line := range scrape(t, m) {
		if name, _, _ := strings.Cut(line, "{"); slices.Contains(names, strings.Fields(name)[0]) {
			got = append(got, line)
		}
	}
	return strings.Join(got, "\n")
}

// TestAnswers: a request adds to the series of its kind, set and status.
func TestAnswers(t *testing.T) {
	src, m := observed(t, rshttp.Options{})
	const list = "/rs/papers/resourcelist.xml"
	for range 3 {
		get(t, src, list)
	}
	get(t, src, list, "If-None-Match", "*")
	get(t, src, "/rs/papers/resourcelist/~b.xml")
	get(t, src, "/rs/papers/resourcelist/~%2525.xml")
	get(t, src, "/.well-known/resourcesync")
	get(t, src, "/rs/elsewhere.xml")
	wanted(t, m, `
resourcesync_requests_total{code="200",document="description",set=""} 1
resourcesync_requests_total{code="200",document="resourcelist",set="papers"} 3
resourcesync_requests_total{code="304",document="resourcelist",set="papers"} 1
resourcesync_requests_total{code="404",document="resourcelist-page",set="papers"} 1
`, "resourcesync_requests_total")
	wanted(t, m, `resourcesync_requests_cached_total{document="resourcelist",set="papers"} 3`, "resourcesync_requests_cached_total")
	wanted(t, m, ``, "resourcesync_requests_incomplete_total")
	wanted(t, m, `resourcesync_renderings_total 2`, "resourcesync_renderings_total")
	if n := testutil.CollectAndCount(m, "resourcesync_request_duration_seconds"); n != 3 {
		t.Errorf("durations of %d kinds", n)
	}
}

// TestIncomplete: the client leaves while a document is being sent.
func TestIncomplete(t *testing.T) {
	src, m := observed(t, rshttp.Options{})
	abandon(t, src, "/.well-known/resourcesync")
	wanted(t, m, `resourcesync_requests_incomplete_total{document="description",set=""} 1`, "resourcesync_requests_incomplete_total")
}

// TestStates: a scrape reads the state of the Source.
func TestStates(t *testing.T) {
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer remote.Close()
	host := strings.TrimPrefix(remote.URL, "http://")
	src, m := observed(t, rshttp.Options{}, topic.RemoteHub{URI: remote.URL + "/a?secret"}, topic.RemoteHub{URI: remote.URL + "/b"})
	defer run(t, src)()
	await(t, src, func(s topic.Status) bool { // the hubs have the first notification
		framework := s.Topics[1]
		return framework.Newest > 0 && framework.Hubs[0].Behind+framework.Hubs[1].Behind == 0
	})
	wanted(t, m, `resourcesync_healthy 1`, "resourcesync_healthy")
	wanted(t, m, `
resourcesync_set_resources{set="empty"} 0
resourcesync_set_resources{set="papers"} 2
`, "resourcesync_set_resources")
	wanted(t, m, `
resourcesync_set_last_change_timestamp_seconds{set="empty"} 1.7672256e+09
resourcesync_set_last_change_timestamp_seconds{set="papers"} 1.767225602e+09
`, "resourcesync_set_last_change_timestamp_seconds")
	behind := `resourcesync_hub_notifications_behind{channel="change-notification",hub="` + host + `",set="papers"} 0
resourcesync_hub_notifications_behind{channel="framework-notification",hub="` + host + `",set="papers"} 0`
	for deadline := time.Now().Add(needs.Patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) { // another notification may follow the first
		if samples(t, m, "resourcesync_hub_notifications_behind") == behind {
			break
		}
	}
	wanted(t, m, behind, "resourcesync_hub_notifications_behind")
	wanted(t, m, `resourcesync_outbox_age_seconds 0`, "resourcesync_outbox_age_seconds")
	wanted(t, m, `resourcesync_subscriptions 0`, "resourcesync_subscriptions")
}

// TestScanned reports the result of a scan, and the time since the last successful one.
func TestScanned(t *testing.T) {
	m := prometheus.New()
	m.Scanned("papers", 3*time.Second, resourcesync.ScanResult{Created: 4, Deleted: 1, Held: 2}, nil)
	m.ScannedPart("papers", resourcesync.ScanResult{Updated: 3})
	m.Scanned("papers", time.Second, resourcesync.ScanResult{}, errors.New("no disk"))
	wanted(t, m, `
resourcesync_scan_changes_total{change="created",set="papers"} 4
resourcesync_scan_changes_total{change="deleted",set="papers"} 1
resourcesync_scan_changes_total{change="updated",set="papers"} 3
resourcesync_scan_duration_seconds{set="papers"} 3
resourcesync_scan_held_deletions{set="papers"} 2
resourcesync_scans_total{result="failure",set="papers"} 1
resourcesync_scans_total{result="success",set="papers"} 1
`, "resourcesync_scan_changes_total", "resourcesync_scan_duration_seconds", "resourcesync_scan_held_deletions", "resourcesync_scans_total")
}

// TestLint: names, types and help texts follow the conventions, and a registry that checks
// each scrape against the descriptions finds nothing.
func TestLint(t *testing.T) {
	src, m := observed(t, rshttp.Options{}, topic.RemoteHub{URI: "https://hub.example.org/"})
	for _, path := range []string{"/rs/papers/resourcelist.xml", "/rs/papers/resourcelist.xml", "/rs/papers/change/"} {
		get(t, src, path)
	}
	m.Scanned("papers", time.Second, resourcesync.ScanResult{Created: 1}, nil)
	registry := client.NewPedanticRegistry()
	if err := registry.Register(m); err != nil {
		t.Fatal(err)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestCardinality: requests for any number of URLs, by any number of clients, create
// only a few series.
func TestCardinality(t *testing.T) {
	src, m := observed(t, rshttp.Options{})
	series := func(n int) int {
		for i := range n {
			key := strings.Repeat("x", i+1)
			get(t, src, "/rs/papers/resourcelist/~"+key+".xml", "User-Agent", key, "X-Forwarded-For", key)
			get(t, src, "/rs/"+key+"/resourcelist.xml")
			get(t, src, "/rs/papers/changelist/2026010"+key+"T000000.000000000Z.xml")
		}
		return testutil.CollectAndCount(m)
	}
	if few, many := series(8), series(200); many != few {
		t.Errorf("%d series after a few requests, %d after many", few, many)
	}
}

// BenchmarkObserve measures what a request for a cached document costs without an
// observer, and with metrics.
func BenchmarkObserve(b *testing.B) {
	for name, o := range map[string]rshttp.Options{"none": {}, "metrics": {Observe: prometheus.New().Observe}} {
		b.Run(name, func(b *testing.B) {
			src, err := rshttp.New("https://example.org/rs/", []rshttp.Set{{Provider: papers(b, "a")}}, &o)
			if err != nil {
				b.Fatal(err)
			}
			r := httptest.NewRequest("GET", "/rs/resourcelist.xml", nil)
			b.ReportAllocs()
			for b.Loop() {
				src.ServeHTTP(discard{http.Header{}}, r)
			}
		})
	}
}

type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}
