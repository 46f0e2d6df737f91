package otel_test

import (
	"fmt"
	"log"
	"net/http/httptest"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/otel"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// The first request for a document renders it, and the trace shows both.
func Example() {
	spans := tracetest.NewSpanRecorder() // instead of an exporter
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))
	src, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{Provider: memory.New(nil)}},
		&rshttp.Options{Tracer: otel.New(provider, nil)})
	if err != nil {
		log.Fatal(err)
	}
	handler := otelhttp.NewHandler(src, "resourcesync", otelhttp.WithTracerProvider(provider))
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/resourcesync/changelist.xml", nil))
	for _, span := range spans.Ended() {
		fmt.Println(span.Name(), span.Parent().IsValid())
	}
	// Output:
	// resourcesync.render true
	// GET false
}
