package prometheus

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/resourcesync-go/resourcesync"
)

// scans are the metrics of the scans by this process.
type scans struct {
	ended    *prometheus.CounterVec // set, result
	changes  *prometheus.CounterVec // set, change
	duration *prometheus.GaugeVec   // set; of the last one that succeeded
	last     *prometheus.GaugeVec   // set; the same
	held     *prometheus.GaugeVec   // set; the same
	unread   *prometheus.GaugeVec   // set; the same
}

func newScans() scans {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, []string{"set"})
	}
	return scans{
		ended:    counters("scans_total", "Complete scans that have ended.", "set", "result"),
		changes:  counters("scan_changes_total", "Changes that scans have found, partial scans included.", "set", "change"),
		duration: gauge("scan_duration_seconds", "Duration of the last complete scan that succeeded."),
		last:     gauge("scan_last_success_timestamp_seconds", "Time at which the last complete scan succeeded."),
		held:     gauge("scan_held_deletions", "Deletions that the last complete scan found and that are held until they are confirmed."),
		unread:   gauge("scan_unreadable_resources", "Resources that the last complete scan could not read and that stay listed."),
	}
}

func (s *scans) all() []prometheus.Collector {
	return []prometheus.Collector{s.ended, s.changes, s.duration, s.last, s.held, s.unread}
}

func (s *scans) add(set string, took time.Duration, r resourcesync.ScanResult, err error) {
	if err != nil {
		s.ended.WithLabelValues(set, "failure").Inc()
		return
	}
	s.ended.WithLabelValues(set, "success").Inc()
	s.count(set, r)
	s.duration.WithLabelValues(set).Set(took.Seconds())
	s.last.WithLabelValues(set).SetToCurrentTime()
	s.held.WithLabelValues(set).Set(float64(r.Held))
	s.unread.WithLabelValues(set).Set(float64(r.Unreadable))
}

func (s *scans) count(set string, r resourcesync.ScanResult) {
	s.changes.WithLabelValues(set, "created").Add(float64(r.Created))
	s.changes.WithLabelValues(set, "updated").Add(float64(r.Updated))
	s.changes.WithLabelValues(set, "deleted").Add(float64(r.Deleted))
}
