// Package prometheus exports metrics of a Source to Prometheus.
//
// [Metrics] counts the answers to requests, and reads counters and states of the Source when
// it is scraped:
//
//	metrics := prometheus.New()
//	src, err := rshttp.New(base, sets, &rshttp.Options{Observe: metrics.Observe})
//	metrics.Attach(src)
//	registry.MustRegister(metrics)
//	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
//
// The labels have few values: document is the kind of a document (see [rshttp.Answer]), set is
// the name of a set, channel is a capability, and hub is the host of a remote hub. Clients,
// subscribers and URLs are never labels. Nothing walks a set: a scrape costs about what a
// request for a document of each set does.
//
// docs/operations/watch.md lists the metrics and says what to alert on.
package prometheus

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// Metrics are the metrics of a Source. They are a prometheus.Collector, and safe for
// concurrent use.
type Metrics struct {
	requests   *prometheus.CounterVec   // document, set, code
	durations  *prometheus.HistogramVec // document
	bytes      *prometheus.CounterVec   // document, set
	cached     *prometheus.CounterVec   // document, set
	incomplete *prometheus.CounterVec   // document, set
	scans      scans

	source atomic.Pointer[rshttp.Source]
	push   pushCache
}

// New returns metrics of a Source that is named later, with [Metrics.Attach].
func New() *Metrics {
	return &Metrics{
		requests:   counters("requests_total", "Answered requests for documents, packages, versions of resources and topics, and to the hub.", "document", "set", "code"),
		durations:  durations(),
		bytes:      counters("response_bytes_total", "Bytes of the bodies of answers, on the wire.", "document", "set"),
		cached:     counters("requests_cached_total", "Requests for documents that were answered without rendering.", "document", "set"),
		incomplete: counters("requests_incomplete_total", "Requests whose answers were not sent completely, because the client left or the transfer was aborted.", "document", "set"),
		scans:      newScans(),
	}
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func durations() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace,
		Name:      "request_duration_seconds",
		Help:      "Time from the beginning of a request to the end of its answer, including the time that the client takes.",
		Buckets:   []float64{.0005, .001, .005, .02, .1, .5, 1, 5, 30, 120, 600},
	}, []string{"document"})
}

// namespace is the first word of the names of all metrics.
const namespace = "resourcesync"

// Observe counts a. It is for [rshttp.Options].Observe.
func (m *Metrics) Observe(a rshttp.Answer) {
	m.requests.WithLabelValues(a.Document, a.Set, strconv.Itoa(a.Status)).Inc()
	m.durations.WithLabelValues(a.Document).Observe(a.Duration.Seconds())
	m.bytes.WithLabelValues(a.Document, a.Set).Add(float64(a.Bytes))
	if a.Cached {
		m.cached.WithLabelValues(a.Document, a.Set).Inc()
	}
	if !a.Complete {
		m.incomplete.WithLabelValues(a.Document, a.Set).Inc()
	}
}

// Attach names the Source whose counters and states are collected. Before that, only
// answers and scans are.
func (m *Metrics) Attach(src *rshttp.Source) { m.source.Store(src) }

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, c := range m.own() {
		c.Describe(out)
	}
	for _, d := range descs {
		out <- d
	}
}

// own returns the metrics that m keeps itself.
func (m *Metrics) own() []prometheus.Collector {
	return append(m.scans.all(), m.requests, m.durations, m.bytes, m.cached, m.incomplete)
}

// collectTimeout bounds the reading of states in a scrape, because Prometheus gives up
// after ten seconds by default.
const collectTimeout = 8 * time.Second

// Collect implements prometheus.Collector. Metrics that cannot be read in time are missing.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	for _, c := range m.own() {
		c.Collect(out)
	}
	src := m.source.Load()
	if src == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	healthy := 0.0
	if src.Health(ctx) == nil {
		healthy = 1
	}
	send(out, descHealthy, healthy)
	collectCounters(out, src.Counters())
	collectSets(ctx, out, src)
	m.push.collect(ctx, out, src)
}

// Scanned counts a complete scan of a set that took the given time. The host calls it
// after its Scan has returned result and err.
func (m *Metrics) Scanned(set string, took time.Duration, result resourcesync.ScanResult, err error) {
	m.scans.add(set, took, result, err)
}

// ScannedPart counts the changes that a partial scan of a set has found.
func (m *Metrics) ScannedPart(set string, result resourcesync.ScanResult) {
	m.scans.count(set, result)
}

// pushCache has the status of push. See collect.
type pushCache struct {
	mu    sync.Mutex
	now   pushStatus
	until time.Time
}
