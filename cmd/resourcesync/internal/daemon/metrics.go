package daemon

import (
	"context"
	"time"

	client "github.com/prometheus/client_golang/prometheus"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/disk"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/state"
)

// collectors returns the metrics of the site.
func (p *daemon) collectors() []client.Collector {
	all := []client.Collector{p.metrics, standbyMetrics{p.state}, disk.New(func() []disk.Place { return p.now.Load().disks() })}
	if p.harvesters != nil {
		all = append(all, client.NewGaugeFunc(client.GaugeOpts{
			Name: "resourcesync_harvesters",
			Help: "Harvesters with a request in the last 30 days, by name or agent, and address; at most 1,000.",
		}, func() float64 { return float64(p.harvesters.Len()) }))
		for name, longer := range map[string]time.Duration{"1h": time.Hour, "1d": settings.Day} {
			all = append(all, client.NewGaugeFunc(client.GaugeOpts{
				Name: "resourcesync_harvesters_behind", ConstLabels: client.Labels{"longer_than": name},
				Help: "Harvesters that have lacked a change for longer than an hour or a day.",
			}, func() float64 { return float64(p.harvesters.Behind(longer)) }))
		}
	}
	if p.certificate != nil {
		all = append(all, client.NewGaugeFunc(client.GaugeOpts{
			Name: "resourcesync_certificate_expiry_timestamp_seconds",
			Help: "Time at which the certificate of the site expires.",
		}, func() float64 { return float64(p.certificate.Expires().Unix()) }))
	}
	return all
}

// disks returns the places of the state and of the copies of Sources. A state in PostgreSQL is on
// a disk of its server.
func (p *publication) disks() (all []disk.Place) {
	if !p.state.Shared {
		all = append(all, disk.Place{Of: "state", Path: p.state.Place})
	}
	for _, m := range p.members {
		if m.Content.Disk != "" {
			all = append(all, disk.Place{Of: "copy", Set: m.Name, Path: m.Content.Disk})
		}
	}
	return all
}

// standbyMetrics collects the status of the standby of the state, which each scrape requests.
type standbyMetrics struct{ state *state.State }

var (
	standbyLag   = client.NewDesc("resourcesync_standby_lag_seconds", "Time for which the standby of --read-from has lacked a change of the primary; absent if it cannot be used.", nil, nil)
	standbyReads = client.NewDesc("resourcesync_standby_reads_total", "Reads of lists and packages that the standby served, or the primary because the standby was behind or failed.", []string{"result"}, nil)
)

// Describe implements the Collector of Prometheus.
func (m standbyMetrics) Describe(out chan<- *client.Desc) {
	out <- standbyLag
	out <- standbyReads
}

// Collect implements the Collector of Prometheus.
func (m standbyMetrics) Collect(out chan<- client.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	s, has, err := m.state.Standby(ctx)
	if !has || ctx.Err() != nil {
		return
	}
	if err == nil && s.Err == nil {
		out <- client.MustNewConstMetric(standbyLag, client.GaugeValue, s.Lag.Seconds())
	}
	for result, n := range map[string]int64{"served": s.Reads, "behind": s.Behind, "failed": s.Failed} {
		out <- client.MustNewConstMetric(standbyReads, client.CounterValue, float64(n), result)
	}
}
