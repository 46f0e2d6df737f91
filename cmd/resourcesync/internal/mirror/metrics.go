package mirror

import (
	"sync"

	client "github.com/prometheus/client_golang/prometheus"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
	"github.com/resourcesync-go/resourcesync/destination"
)

// copyMetrics are the metrics of a copy.
type copyMetrics struct {
	mirror *mirroring

	mu                        sync.Mutex
	created, updated, deleted int64
	received                  int64
}

func newCopyMetrics(m *mirroring) *copyMetrics { return &copyMetrics{mirror: m} }

// count adds the results of a run, or of a group of notifications.
func (m *copyMetrics) count(r *destination.Report) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.created += r.Created
	m.updated += r.Updated
	m.deleted += r.Deleted
	m.received += r.Received
}

func copyDesc(name, help string, labels ...string) *client.Desc {
	return client.NewDesc("resourcesync_copy_"+name, help, labels, nil)
}

var (
	copyHealthy   = copyDesc("healthy", "1 if the last run has left nothing undone, or the first has not ended; otherwise 0.")
	copyInSync    = copyDesc("in_sync_timestamp_seconds", "Latest time at which the copy is known to have had everything that the Source listed.")
	copyBehind    = copyDesc("behind_changes", "Known changes that the copy lacks.")
	copyUntil     = copyDesc("until_timestamp_seconds", "Time up to which changes of the Source have been read.")
	copyResources = copyDesc("resources", "Resources of the copy.")
	copyBytes     = copyDesc("bytes", "Size of the copy.")
	copyHeld      = copyDesc("held_deletions", "Resources that the last run has kept although the Source no longer lists them.")
	copyFailures  = copyDesc("failures", "Failed runs in a row.")
	copyPaused    = copyDesc("paused_hosts", "Hosts that have asked for a pause.")
	copyNext      = copyDesc("next_run_timestamp_seconds", "Time of the next run.")
	copyChannels  = copyDesc("channels", "Channels that are used, by protocol and state.", "by", "state")
	copyChanges   = copyDesc("changes_total", "Resources of which the copy has changed.", "change")
	copyReceived  = copyDesc("received_bytes_total", "Bytes of content that have been received.")

	copyDescs = []*client.Desc{
		copyHealthy, copyInSync, copyBehind, copyUntil, copyResources, copyBytes, copyHeld, copyFailures, copyPaused, copyNext, copyChannels, copyChanges, copyReceived,
	}
)

// Describe implements the Collector of Prometheus.
func (m *copyMetrics) Describe(out chan<- *client.Desc) {
	for _, d := range copyDescs {
		out <- d
	}
}

// Collect implements the Collector of Prometheus. Unknown times are absent.
func (m *copyMetrics) Collect(out chan<- client.Metric) {
	s := m.mirror.copyStatus()
	gauge := func(d *client.Desc, value float64, labels ...string) {
		out <- client.MustNewConstMetric(d, client.GaugeValue, value, labels...)
	}
	healthy := 0.0
	if s.Healthy {
		healthy = 1
	}
	gauge(copyHealthy, healthy)
	m.collectCopy(&s.Copy, gauge)
	m.mu.Lock()
	defer m.mu.Unlock()
	counter := func(d *client.Desc, value int64, labels ...string) {
		out <- client.MustNewConstMetric(d, client.CounterValue, float64(value), labels...)
	}
	counter(copyChanges, m.created, "created")
	counter(copyChanges, m.updated, "updated")
	counter(copyChanges, m.deleted, "deleted")
	counter(copyReceived, m.received)
}

func (m *copyMetrics) collectCopy(c *status.Copy, gauge func(d *client.Desc, value float64, labels ...string)) {
	if !c.InSync.IsZero() {
		gauge(copyInSync, float64(c.InSync.UnixMilli())/1000)
	}
	if !c.Until.IsZero() {
		gauge(copyUntil, float64(c.Until.UnixMilli())/1000)
	}
	if !c.Next.IsZero() {
		gauge(copyNext, float64(c.Next.UnixMilli())/1000)
	}
	gauge(copyBehind, float64(c.Behind))
	gauge(copyResources, float64(c.Resources))
	gauge(copyBytes, float64(c.Bytes))
	gauge(copyFailures, float64(c.Failures))
	last := c.Last
	if last == nil {
		last = &destination.Report{}
	}
	gauge(copyHeld, float64(last.Held))
	gauge(copyPaused, float64(len(last.Pauses)))
	channels := map[[2]string]float64{}
	for _, by := range []string{"WebSub", "WebSocket"} {
		channels[[2]string{by, "open"}], channels[[2]string{by, "closed"}] = 0, 0
	}
	for _, ch := range c.Channels {
		state := "closed"
		if ch.Open {
			state = "open"
		}
		channels[[2]string{ch.By, state}]++
	}
	for labels, n := range channels {
		gauge(copyChannels, n, labels[0], labels[1])
	}
}
