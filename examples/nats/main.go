// Command nats publishes the values of a JetStream key-value bucket as a ResourceSync Source. Run
// it beside a NATS server with JetStream,
//
//	go run . -nats nats://127.0.0.1:4222 -bucket papers
//
// put a value, and request the list:
//
//	nats kv put papers hello 'Hello'
//	curl http://127.0.0.1:8080/resourcesync/resourcelist.xml
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

func main() {
	server := flag.String("nats", nats.DefaultURL, "`URL` of the NATS server")
	bucket := flag.String("bucket", "papers", "`name` of the bucket; it is created if there is none")
	flag.Parse()
	ln, err := net.Listen("tcp", "127.0.0.1:8080")
	if err == nil {
		err = run(context.Background(), ln, *server, *bucket)
	}
	log.Fatal(err)
}

// run serves the values of a bucket, and their ResourceSync documents, until ctx ends, and returns
// why it ended.
func run(ctx context.Context, ln net.Listener, server, bucket string) error {
	site := "http://" + ln.Addr().String() + "/"
	conn, err := nats.Connect(server)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	kv, err := js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucket})
	if err != nil {
		return err
	}
	//docs:begin nats
	values := Bucket{kv, site + "values/"}
	src, err := rshttp.New(site+"resourcesync/", []rshttp.Set{{Provider: values, Prefix: "/values/"}},
		&rshttp.Options{Hub: &hub.Options{}})
	if err != nil {
		return err
	}
	//docs:end
	mux := http.NewServeMux()
	mux.HandleFunc("GET /values/{key}", func(w http.ResponseWriter, r *http.Request) {
		entry, err := kv.Get(r.Context(), r.PathValue("key"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Write(entry.Value())
	})
	httpServer := &http.Server{Handler: src.Wrap(mux), ReadHeaderTimeout: 10 * time.Second}
	defer httpServer.Close()
	serving, stop := context.WithCancelCause(ctx)
	go func() { stop(httpServer.Serve(ln)) }()
	if err := src.Run(serving); err != nil || ctx.Err() != nil {
		return err // nil after an interrupt
	}
	return context.Cause(serving) // why the server has ended
}

var (
	_ resourcesync.Stater  = Bucket{}
	_ resourcesync.Watcher = Bucket{}
	_ resourcesync.Opener  = Bucket{}
)
