package prometheus_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/prometheus"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// The metrics are served at an address of their own, which is not public.
func Example() {
	metrics := prometheus.New()
	src, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{Provider: memory.New(nil)}},
		&rshttp.Options{Observe: metrics.Observe})
	if err != nil {
		log.Fatal(err)
	}
	metrics.Attach(src)
	registry := client.NewRegistry()
	registry.MustRegister(metrics)
	operators := http.NewServeMux()
	operators.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))

	src.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/resourcesync/changelist.xml", nil))
	scrape := httptest.NewRecorder()
	operators.ServeHTTP(scrape, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(scrape.Body.String()) {
		if strings.HasPrefix(line, "resourcesync_requests_total") || strings.HasPrefix(line, "resourcesync_set_resources") {
			fmt.Print(line)
		}
	}
	// Output:
	// resourcesync_requests_total{code="200",document="changelist",set=""} 1
	// resourcesync_set_resources{set=""} 0
}
