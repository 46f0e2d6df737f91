package daemon

import (
	"time"

	client "github.com/prometheus/client_golang/prometheus"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/disk"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

// collectors returns the metrics of the site.
func (p *daemon) collectors() []client.Collector {
	all := []client.Collector{p.metrics, disk.New(func() []disk.Place { return p.now.Load().disks() })}
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
