// Package operators serves the address of operators: the status of a process, its metrics, and its
// health.
package operators

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/server"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

// Timeout is the default time-out of a scrape in Prometheus.
const Timeout = 10 * time.Second

// DefaultAddress is the address that documents give to --status.
const DefaultAddress = "127.0.0.1:8081"

// A StatusFunc returns a status for JSON, whether it has problems, and a function that returns
// its page.
type StatusFunc func(ctx context.Context) (any, status.Health, func() ([]byte, error))

// Handler returns the handler of the address in --status: the status at /, and the metrics
// at /metrics.
func Handler(now StatusFunc, metrics ...client.Collector) *http.ServeMux {
	registry := client.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(metrics...)
	// A file system that does not answer must not keep scrapes.
	scrape := promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2, Timeout: Timeout})
	mux := http.NewServeMux()
	mux.HandleFunc("/", now.serve)
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
		if IsFreshGet(w, r) {
			scrape.ServeHTTP(w, r)
		}
	})
	return mux
}

// Listen listens at the address of --status.
func Listen(at string) (net.Listener, error) {
	listener, err := net.Listen("tcp", at)
	if err != nil {
		return nil, settings.Errorf("--status: %w; give an address and port of this computer, as in --status %s", err, DefaultAddress)
	}
	return listener, nil
}

// NewServer returns the server of the address in --status, and logs its URL.
func NewServer(listener net.Listener, at string, log *slog.Logger, handler http.Handler) (*server.Server, string) {
	url := "http://" + listener.Addr().String() + "/"
	log.Info("status for operators", "url", url)
	return &server.Server{Listener: listener, Handler: checkHost(at, handler)}, url
}

// serve serves the status, with 503 if there are problems: as a page to browsers,
// and as JSON to other clients and at statusJSON.
func (now StatusFunc) serve(w http.ResponseWriter, r *http.Request) {
	if !reqbody.None(w, r) {
		return
	}
	if r.URL.Path != "/" && r.URL.Path != status.JSON {
		http.NotFound(w, r)
		return
	}
	if !IsFreshGet(w, r) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), Timeout)
	defer cancel()
	data, health, page := now(ctx)
	var body []byte
	var err error
	if r.URL.Path == "/" && strings.Contains(strings.Join(r.Header["Accept"], ","), "text/html") {
		body, err = page()
		status.Look().SetHeaders(w.Header())
	} else {
		body, err = json.MarshalIndent(data, "", "  ")
		body = append(body, '\n')
		w.Header().Set("Content-Type", "application/json")
	}
	if err != nil {
		panic(err) // the page is tested, and every value can be written as JSON
	}
	w.Header().Set("Vary", "Accept")
	if !health.Healthy {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	w.Write(body)
}

// checkHost passes on requests for an IP address, for localhost, or for the host in
// listen, the value of --status. A web page can point its own name at an address of
// this computer and read the answers under that name (DNS rebinding); it cannot make a
// browser send one of these.
func checkHost(listen string, next http.Handler) http.Handler {
	own, _, _ := net.SplitHostPort(listen) // which is listened to
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := hostname(r.Host)
		_, notAddress := netip.ParseAddr(host)
		if notAddress == nil || host == "localhost" || own != "" && strings.EqualFold(host, own) {
			next.ServeHTTP(w, r)
			return
		}
		if reqbody.None(w, r) {
			http.Error(w, "The status is not public under this name. Use an IP address, localhost, or the name in --status.", http.StatusMisdirectedRequest)
		}
	})
}

// hostname returns the host in a Host header, without a port, brackets or a dot at
// its end.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}
