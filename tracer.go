package resourcesync

import (
	"context"
	"log/slog"
)

// A Tracer records spans: what work was done, for how long, on whose behalf, and whether it
// succeeded. Package adapters/otel implements it with OpenTelemetry. All methods are safe for
// concurrent use.
type Tracer interface {
	// Start begins a span, as a child of the span in ctx if there is one. It returns a
	// context for the work, and a function that ends the span with the result of the
	// work. The caller calls it once.
	//
	// The names of spans are "resourcesync.render" (a document, because of a request),
	// "resourcesync.plan" (a package), "resourcesync.scan" (of an origin), "resourcesync.submit" (a notification, to a remote
	// hub) and "resourcesync.deliver" (a notification, to a subscriber). Attributes name
	// the kind of document, set, path, topic, host of the hub or subscriber, and number
	// of the notification.
	Start(ctx context.Context, name string, attrs ...slog.Attr) (work context.Context, end func(error))

	// Inject calls set with each header field that identifies the span in ctx to another
	// server: for submissions and deliveries. Without a call, the server is not told.
	Inject(ctx context.Context, set func(field, value string))
}
