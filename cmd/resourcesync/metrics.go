package main

import (
	"net/http"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// operators returns the handler of the address in --status: the status at /, and the metrics
// at /metrics.
func (p *daemon) operators() http.Handler {
	registry := client.NewRegistry()
	registry.MustRegister(p.metrics, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if p.harvesters != nil {
		registry.MustRegister(client.NewGaugeFunc(client.GaugeOpts{
			Name: "resourcesync_harvesters",
			Help: "Harvesters with a request in the last 30 days, by agent and address; at most 1,000.",
		}, func() float64 { return float64(p.harvesters.Len()) }))
	}
	if p.certificate != nil {
		registry.MustRegister(client.NewGaugeFunc(client.GaugeOpts{
			Name: "resourcesync_certificate_expiry_timestamp_seconds",
			Help: "Time at which the certificate of the site expires.",
		}, func() float64 { return float64(p.certificate.Expires().Unix()) }))
	}
	metrics := promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2})
	mux := http.NewServeMux()
	mux.HandleFunc("/", p.serveStatus)
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
		if isFreshGet(w, r) {
			metrics.ServeHTTP(w, r)
		}
	})
	return mux
}
