// Package otel records spans of a Source with OpenTelemetry.
//
// A [Tracer] is for [rshttp.Options].Tracer. With otelhttp around the handler, the rendering
// of a document is a child of the request that caused it:
//
//	tracer := otel.New(provider, nil)
//	src, err := rshttp.New(base, sets, &rshttp.Options{Tracer: tracer})
//	handler := otelhttp.NewHandler(src.Wrap(app), "http")
//
// The package depends on OpenTelemetry's API alone; the host chooses an SDK and an exporter.
package otel

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Options are the optional arguments of [New].
type Options struct {
	// Propagator adds the identity of a span to submissions and deliveries, such as
	// propagation.TraceContext{} the header traceparent. Receivers are strangers: they
	// learn the ids of traces, and nothing else. If nil, nothing is added.
	Propagator propagation.TextMapPropagator
}

// A Tracer is a [resourcesync.Tracer]. It is safe for concurrent use.
type Tracer struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator // nil for none
}

// New returns a Tracer whose spans come from provider, such as otel.GetTracerProvider().
// opts may be nil.
func New(provider trace.TracerProvider, opts *Options) *Tracer {
	t := &Tracer{tracer: provider.Tracer("github.com/resourcesync-go/resourcesync")}
	if opts != nil {
		t.propagator = opts.Propagator
	}
	return t
}

// Start implements [resourcesync.Tracer]. The keys of attributes get the prefix
// "resourcesync.".
func (t *Tracer) Start(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, func(error)) {
	kind := trace.SpanKindInternal
	if name == "resourcesync.submit" || name == "resourcesync.deliver" {
		kind = trace.SpanKindClient
	}
	converted := make([]attribute.KeyValue, len(attrs))
	for i, a := range attrs {
		converted[i] = keyValue(a)
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(converted...))
	return ctx, func(err error) { end(span, err) }
}

func keyValue(a slog.Attr) attribute.KeyValue {
	key := "resourcesync." + a.Key
	if a.Value.Kind() == slog.KindInt64 {
		return attribute.Int64(key, a.Value.Int64())
	}
	return attribute.String(key, a.Value.String())
}

func end(span trace.Span, err error) {
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// Inject implements [resourcesync.Tracer].
func (t *Tracer) Inject(ctx context.Context, set func(field, value string)) {
	if t.propagator != nil {
		t.propagator.Inject(ctx, setter(set))
	}
}

// A setter is a carrier that can only be written.
type setter func(field, value string)

func (s setter) Get(string) string       { return "" }
func (s setter) Set(field, value string) { s(field, value) }
func (s setter) Keys() []string          { return nil }
