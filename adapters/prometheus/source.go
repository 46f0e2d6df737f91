package prometheus

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/resourcesync-go/resourcesync/rshttp"
)

// descs are the descriptions of the metrics that are read when they are scraped.
var descs []*prometheus.Desc

func desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
	descs = append(descs, d)
	return d
}

var (
	descHealthy = desc("healthy", "1 if nothing prevents this process from publishing, otherwise 0.")

	descRendered   = desc("renderings_total", "Documents that were rendered.")
	descPlanned    = desc("packages_planned_total", "Packages that were planned.")
	descTransfers  = desc("transfers_total", "Transfers of packages and versions of resources.")
	descBroken     = desc("transfers_broken_total", "Transfers that were aborted because the content differed from its entry or could not be read.")
	descRunning    = desc("transfers_running", "Transfers that are running.")
	descRefused    = desc("requests_refused_total", "Requests that were answered 503 or 429 because too much was being rendered or sent.")
	descFailed     = desc("requests_failed_total", "Requests that were answered 503 because a provider failed.")
	descLeftOut    = desc("entries_omitted_total", "Entries that were omitted from documents because their URIs cannot be written.")
	descDropped    = desc("fields_omitted_total", "Fields that were omitted from entries because no document can hold their values.")
	descRead       = desc("checksum_reads_total", "Resources that were read for their checksums alone.")
	descCacheBytes = desc("cache_bytes", "Memory of the cached documents.")
	descSockets    = desc("websocket_clients", "WebSockets that are connected.")
	descPlanBytes  = desc("plan_bytes", "Memory of the plans of packages.")

	descResources = desc("set_resources", "Resources in a set.", "set")
	descChanged   = desc("set_last_change_timestamp_seconds", "Time of the newest change in a set.", "set")
	descPending   = desc("journal_pending_seconds", "Age of the oldest change that is recorded and not yet in the journal of a set, 0 if there is none.", "set")
	descRecorded  = desc("journal_last_change_timestamp_seconds", "Time of the newest change in the journal of a set.", "set")
)

func send(out chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func count[N int64 | uint64](out chan<- prometheus.Metric, d *prometheus.Desc, n N, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}

// sendTime sends t unless it is unknown.
func sendTime(out chan<- prometheus.Metric, d *prometheus.Desc, t time.Time, labels ...string) {
	if !t.IsZero() {
		send(out, d, float64(t.UnixMicro())/1e6, labels...)
	}
}

func collectCounters(out chan<- prometheus.Metric, c rshttp.Counters) {
	count(out, descRendered, c.Rendered)
	count(out, descPlanned, c.Planned)
	count(out, descTransfers, c.Sent)
	count(out, descBroken, c.Broken)
	count(out, descRefused, c.Refused)
	count(out, descFailed, c.Failed)
	count(out, descLeftOut, c.LeftOut)
	count(out, descDropped, c.Dropped)
	count(out, descRead, c.Read)
	send(out, descRunning, float64(c.Transfers))
	send(out, descCacheBytes, float64(c.CacheBytes))
	send(out, descSockets, float64(c.WebSockets))
	send(out, descPlanBytes, float64(c.PlanBytes))
}

func collectSets(ctx context.Context, out chan<- prometheus.Metric, src *rshttp.Source) {
	sets, _ := src.SetStatus(ctx) // a failure makes requests fail, which is counted
	for _, s := range sets {
		if s.Resources >= 0 {
			send(out, descResources, float64(s.Resources), s.Set)
		}
		sendTime(out, descChanged, s.Changed, s.Set)
		sendTime(out, descRecorded, s.Recorded, s.Set)
		pending := 0.0
		if !s.Pending.IsZero() {
			pending = max(0, time.Since(s.Pending).Seconds())
		}
		send(out, descPending, pending, s.Set)
	}
}
