package websocket_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http/httptest"
	"time"

	"github.com/coder/websocket"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
	rswebsocket "github.com/resourcesync-go/resourcesync/topic/websocket"
)

// A Source serves its channels by WebSockets as well.
func Example() {
	server, err := rswebsocket.New(&rswebsocket.Options{Origins: []string{"www.example.org"}})
	if err != nil {
		log.Fatal(err)
	}
	papers := memory.New(nil)
	src, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{Provider: papers}}, &rshttp.Options{
		WebSocket: server,
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	go src.Run(ctx)
	site := httptest.NewServer(src)
	defer site.Close()

	conn := connect(ctx, site.URL+"/resourcesync/change/websocket")
	defer conn.CloseNow()
	for begun := false; !begun; { // only later changes are sent
		status, err := src.PushStatus(ctx)
		if err != nil {
			log.Fatal(err)
		}
		begun = !status.Topics[0].Until.IsZero()
	}
	papers.Put(ctx, resourcesync.Resource{Key: "1", URI: "https://example.org/papers/1"})
	_, message, err := conn.Read(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, entries, err := rsxml.Decode(bytes.NewReader(message))
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range entries {
		fmt.Println(e.Metadata.Change, e.Loc)
	}
	// Output: created https://example.org/papers/1
}

// connect connects as soon as the server runs.
func connect(ctx context.Context, url string) *websocket.Conn {
	for {
		conn, _, err := websocket.Dial(ctx, url, nil)
		if err == nil {
			return conn
		}
		if ctx.Err() != nil {
			log.Fatal(err)
		}
	}
}
