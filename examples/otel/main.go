// Command otel publishes a folder as a ResourceSync Source, and traces it with OpenTelemetry.
// Run it,
//
//	go run ./examples/otel docs
//
// and request a document twice:
//
//	curl http://127.0.0.1:8080/resourcesync/resourcelist.xml
//	curl http://127.0.0.1:8080/resourcesync/resourcelist.xml
//
// Each span is one JSON object on the standard output: the scans of the folder, the two
// requests, and the rendering that the first of them caused, in the same trace. Replace
// stdouttrace by otlptracehttp to send them to a collector.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/otel"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "`address` to listen at")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("name the folder to publish, as in: otel docs")
	}
	ln, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, ln, flag.Arg(0), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run publishes a folder until ctx ends. It writes spans to out.
func run(ctx context.Context, ln net.Listener, path string, out io.Writer) error {
	exporter, err := stdouttrace.New(stdouttrace.WithWriter(out))
	if err != nil {
		return err
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter, sdk.WithBatchTimeout(time.Second)))
	defer provider.Shutdown(context.WithoutCancel(ctx))

	// Subscribers get the header traceparent. Leave out the Propagator to omit it.
	tracer := otel.New(provider, &otel.Options{Propagator: propagation.TraceContext{}})

	site := "http://" + ln.Addr().String() + "/"
	folder, err := dir.Open(path, site, nil)
	if err != nil {
		return err
	}
	defer folder.Close()
	set, err := scan.Into(ctx, new(memory.Store), "files", folder, &scan.Options{Every: time.Minute, Tracer: tracer})
	if err != nil {
		return err
	}
	src, err := rshttp.New(site+"resourcesync/", []rshttp.Set{{Provider: set}},
		&rshttp.Options{Tracer: tracer, Hub: &hub.Options{}})
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           otelhttp.NewHandler(src.Wrap(folder.Handler(http.NotFoundHandler())), "http", otelhttp.WithTracerProvider(provider)),
		ReadHeaderTimeout: 10 * time.Second,
	}
	log.Printf("listening; harvesters start at %s", src.Description())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		return server.Close()
	})
	g.Go(func() error { return src.Run(ctx) })
	return g.Wait()
}
