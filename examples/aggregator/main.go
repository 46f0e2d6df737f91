// Command aggregator copies any number of ResourceSync Sources, and is itself a Source of all
// the copies: with lists, changes, dumps and push, and links to the originals. Run it,
//
//	go run ./examples/aggregator -data aggregator https://a.example.org/ https://b.example.org/
//
// and request what a harvester requests, or mirror it:
//
//	curl http://127.0.0.1:8080/.well-known/resourcesync
//	curl http://127.0.0.1:8080/resourcesync/resourcelist.xml
//	resourcesync mirror http://127.0.0.1:8080/ copy --follow
//
// It follows the Sources by WebSocket where they have one, otherwise it polls. For WebSub, set
// FollowOptions.Callback to a destination.Callback, and serve that at a public URL.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/http"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/replica"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

func main() {
	data := flag.String("data", "aggregator", "`folder` for the copies and their state")
	listen := flag.String("listen", "127.0.0.1:8080", "`address` to listen at")
	every := flag.Duration("every", 15*time.Minute, "`interval` at which the Sources are read, even without notifications")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ln, err := net.Listen("tcp", *listen)
	if err == nil {
		err = run(ctx, ln, "http://"+ln.Addr().String(), *data, *every, flag.Args())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run aggregates sources until ctx ends. site is the public URL.
func run(ctx context.Context, ln net.Listener, site, data string, every time.Duration, sources []string) error {
	store, err := openStore(ctx, data)
	if err != nil {
		return err
	}
	defer store.Close()
	//docs:begin aggregator
	set, err := store.Set(ctx, "copies", nil)
	if err != nil {
		return err
	}
	copies, err := replica.NewAggregator(ctx, site+"/copies/", set, nil)
	if err != nil {
		return err
	}
	src, err := rshttp.New(site+"/resourcesync/", []rshttp.Set{{Provider: set, Opener: copies}},
		&rshttp.Options{Store: store, Hub: &hub.Options{}})
	if err != nil {
		return err
	}
	var following sync.WaitGroup
	defer following.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for _, source := range sources {
		d, err := open(source, data, copies)
		if err != nil {
			return err
		}
		following.Go(func() {
			defer d.Close()
			d.Follow(ctx, &destination.FollowOptions{Every: every, Report: report(source)})
		})
	}
	server := &http.Server{Handler: src.Wrap(copies), ReadHeaderTimeout: 10 * time.Second}
	//docs:end
	defer server.Close()
	go server.Serve(ln)
	log.Printf("listening; harvesters start at %s", src.Description())
	return src.Run(ctx)
}
