package otel_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/otel"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/subscriber"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// recorded returns a provider, and the recorder of its spans.
func recorded() (*sdk.TracerProvider, *tracetest.SpanRecorder) {
	spans := tracetest.NewSpanRecorder()
	return sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)), spans
}

func named(spans *tracetest.SpanRecorder, name string) []sdk.ReadOnlySpan {
	return slices.DeleteFunc(spans.Ended(), func(s sdk.ReadOnlySpan) bool { return s.Name() != name })
}

func attributes(s sdk.ReadOnlySpan) string {
	var all []string
	for _, kv := range s.Attributes() {
		all = append(all, string(kv.Key)+"="+kv.Value.String())
	}
	return strings.Join(all, " ")
}

func newSource(t *testing.T, base string, set rshttp.Set, o rshttp.Options) *rshttp.Source {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	src, err := rshttp.New(base, []rshttp.Set{set}, &o)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// TestRender: a rendering is a child of the request that caused it, and a request that finds
// the document in the cache causes none.
func TestRender(t *testing.T) {
	provider, spans := recorded()
	src := newSource(t, "https://example.org/rs/", rshttp.Set{Name: "papers", Provider: memory.New(nil)}, rshttp.Options{Tracer: otel.New(provider, nil)})
	h := otelhttp.NewHandler(src, "http", otelhttp.WithTracerProvider(provider))
	for range 2 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/rs/papers/changelist.xml", nil))
		if w.Code != http.StatusOK {
			t.Fatal(w.Body)
		}
	}
	all := spans.Ended()
	if len(all) != 3 {
		t.Fatalf("%d spans", len(all))
	}
	render, request := all[0], all[1]
	if render.Name() != "resourcesync.render" || render.Parent().SpanID() != request.SpanContext().SpanID() || render.SpanContext().TraceID() != request.SpanContext().TraceID() {
		t.Errorf("%q is not a child of %q", render.Name(), request.Name())
	}
	if got := attributes(render); got != "resourcesync.document=changelist resourcesync.path=/rs/papers/changelist.xml resourcesync.set=papers" {
		t.Errorf("attributes: %s", got)
	}
	if all[2].SpanContext().TraceID() == request.SpanContext().TraceID() {
		t.Error("the second request is in the trace of the first")
	}
}

// failing is a set that cannot be read.
type failing struct{ *memory.Set }

func (failing) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return resourcesync.Stat{Version: "1"}, nil
}

func (failing) Since(context.Context) (time.Time, error) { return time.Time{}, errors.New("no disk") }

func (failing) Windows(context.Context, int) ([]resourcesync.Interval, error) {
	return nil, errors.New("no disk")
}

// TestFailure: the span of a failed rendering has the cause, which clients do not see.
func TestFailure(t *testing.T) {
	provider, spans := recorded()
	src := newSource(t, "https://example.org/rs/", rshttp.Set{Provider: failing{memory.New(nil)}}, rshttp.Options{Tracer: otel.New(provider, nil)})
	src.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/rs/changelist.xml", nil))
	all := named(spans, "resourcesync.render")
	if len(all) != 1 || all[0].Status().Code != codes.Error || !strings.Contains(all[0].Status().Description, "no disk") {
		t.Errorf("spans: %v", all)
	}
}

// TestScan: a scan has a span, and the listing has its context.
func TestScan(t *testing.T) {
	provider, spans := recorded()
	tracer := otel.New(provider, nil)
	set, err := scan.Into(t.Context(), new(memory.Store), "papers", listed{tracer}, &scan.Options{Tracer: tracer})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.Update(t.Context()); err == nil {
		t.Error("the scan did not fail")
	}
	scans, listings := named(spans, "resourcesync.scan"), named(spans, "listing")
	if len(scans) != 1 || len(listings) != 1 || listings[0].Parent().SpanID() != scans[0].SpanContext().SpanID() {
		t.Fatalf("scans %v, listings %v", scans, listings)
	}
	if got := attributes(scans[0]); !strings.Contains(got, "resourcesync.set=papers") || scans[0].Status().Code != codes.Error {
		t.Errorf("attributes: %s; status %v", got, scans[0].Status())
	}
}

// listed is an origin that fails after a span of its own.
type listed struct{ tracer *otel.Tracer }

func (l listed) Resources(ctx context.Context) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		_, end := l.tracer.Start(ctx, "listing")
		end(nil)
		yield(resourcesync.Resource{}, errors.New("no disk"))
	}
}

// awaited records spans that a test can wait for.
type awaited struct {
	*tracetest.SpanRecorder
	ended chan struct{}
}

func (a *awaited) OnEnd(s sdk.ReadOnlySpan) {
	a.SpanRecorder.OnEnd(s)
	select {
	case a.ended <- struct{}{}:
	default: // the test has yet to look
	}
}

// await waits for the end of the span with this name and the identity in a header, or of
// any span with this name if the header is empty. Notifications of several topics are
// sent at the same time, and a span ends after the response.
func (a *awaited) await(t *testing.T, name, traceparent string) sdk.ReadOnlySpan {
	t.Helper()
	late := time.After(needs.Patience)
	for {
		for _, s := range named(a.SpanRecorder, name) {
			c := s.SpanContext()
			if traceparent == "" || strings.Contains(traceparent, c.TraceID().String()+"-"+c.SpanID().String()) {
				return s
			}
		}
		select {
		case <-a.ended:
		case <-late:
			t.Fatalf("no span %s with the identity %q has ended", name, traceparent)
		}
	}
}

// TestDeliveries: submissions to a remote hub and deliveries to a subscriber have spans. The
// receivers get their ids only if that is configured.
func TestDeliveries(t *testing.T) {
	for name, propagator := range map[string]propagation.TextMapPropagator{"told": propagation.TraceContext{}, "not told": nil} {
		t.Run(name, func(t *testing.T) {
			spans := &awaited{tracetest.NewSpanRecorder(), make(chan struct{}, 1)}
			provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))
			submitted := make(chan string, 100)
			remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				submitted <- r.Header.Get("Traceparent")
			}))
			defer remote.Close()
			set := memory.New(nil)
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			base := "http://" + listener.Addr().String() + "/rs/"
			src := newSource(t, base, rshttp.Set{Provider: set, RemoteHubs: []topic.RemoteHub{{URI: remote.URL}}}, rshttp.Options{
				Tracer: otel.New(provider, &otel.Options{Propagator: propagator}),
				Hub:    &hub.Options{AllowCallbacks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
				Push:   topic.Options{Flush: time.Millisecond},
			})
			server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: src}}
			server.Start()
			defer server.Close()
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- src.Run(ctx) }()
			defer func() { cancel(); <-done }()
			sub := subscriber.New(t, "")
			sub.Subscribe(base+"websub/", base+"change/")
			if err := set.Put(ctx, resourcesync.Resource{Key: "a", URI: "https://example.org/a"}); err != nil {
				t.Fatal(err)
			}
			taken := sub.Await("a notification", time.Minute, func(taken []*subscriber.Notification) bool { return len(taken) > 0 })
			for span, header := range map[string]string{"resourcesync.submit": <-submitted, "resourcesync.deliver": taken[0].Header.Get("Traceparent")} {
				if (header == "") != (propagator == nil) {
					t.Errorf("%s: the header is %q", span, header)
				}
				sent := spans.await(t, span, header)
				if got := attributes(sent); !strings.Contains(got, "resourcesync.host=127.0.0.1:") || !strings.Contains(got, "resourcesync.number=1") {
					t.Errorf("%s: attributes %s", span, got)
				}
			}
		})
	}
}

// BenchmarkSpan measures a span without an SDK, and with one that records and exports
// nothing.
func BenchmarkSpan(b *testing.B) {
	for name, provider := range map[string]trace.TracerProvider{"api": noop.NewTracerProvider(), "sdk": sdk.NewTracerProvider()} {
		b.Run(name, func(b *testing.B) {
			tracer := otel.New(provider, nil)
			b.ReportAllocs()
			for b.Loop() {
				_, end := tracer.Start(b.Context(), "resourcesync.render", slog.String("document", "changelist"), slog.String("path", "/changelist.xml"))
				end(nil)
			}
		})
	}
}
