// Package disk measures the file systems of states and copies.
package disk

import (
	"sync"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
)

// A Place is a path on a file system, and the purpose of its files.
type Place struct {
	Of   string // state or copy
	Set  string // the name of the set of a copy, or ""
	Path string // of a file or folder that exists
}

var (
	free = client.NewDesc("resourcesync_disk_free_bytes", "Free bytes of the file system of the state or a copy, for the user of this process.", []string{"of", "set"}, nil)
	size = client.NewDesc("resourcesync_disk_size_bytes", "Size of the file system of the state or a copy.", []string{"of", "set"}, nil)
)

// patience is the time for which a scrape waits for a measurement. On a network file system whose
// server is gone, a measurement may never end.
const patience = 2 * time.Second

// Metrics collects the free and total bytes of the file systems of places, which each scrape
// measures. Values that the system cannot measure in two seconds are absent. Its methods are
// safe for concurrent use.
type Metrics struct {
	places  func() []Place
	measure func(path string) (free, total uint64, err error)

	mu      sync.Mutex
	running map[string]*measurement // by path
}

// A measurement has its values when done is closed.
type measurement struct {
	began       time.Time
	done        chan struct{}
	free, total uint64
	err         error
}

// New returns the Metrics of the places that a function returns at each scrape.
func New(places func() []Place) *Metrics {
	return &Metrics{places: places, measure: measure, running: make(map[string]*measurement)}
}

// Describe implements the Collector of Prometheus.
func (m *Metrics) Describe(out chan<- *client.Desc) {
	out <- free
	out <- size
}

// Collect implements the Collector of Prometheus.
func (m *Metrics) Collect(out chan<- client.Metric) {
	places := m.places()
	measurements := make([]*measurement, len(places))
	for i, p := range places {
		measurements[i] = m.begin(p.Path)
	}
	for i, p := range places {
		if at := measurements[i]; at.wait() {
			out <- client.MustNewConstMetric(free, client.GaugeValue, float64(at.free), p.Of, p.Set)
			out <- client.MustNewConstMetric(size, client.GaugeValue, float64(at.total), p.Of, p.Set)
		}
	}
}

// begin begins to measure a path, or returns the measurement of it that is running.
func (m *Metrics) begin(path string) *measurement {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at := m.running[path]; at != nil {
		return at
	}
	at := &measurement{began: time.Now(), done: make(chan struct{})}
	m.running[path] = at
	go func() {
		at.free, at.total, at.err = m.measure(path)
		m.mu.Lock()
		delete(m.running, path)
		m.mu.Unlock()
		close(at.done)
	}()
	return at
}

// wait reports whether a measurement has values before its time has passed.
func (at *measurement) wait() bool {
	select {
	case <-at.done:
		return at.err == nil
	case <-time.After(time.Until(at.began.Add(patience))):
	}
	select {
	case <-at.done: // while another measurement was waited for
		return at.err == nil
	default:
		return false
	}
}
