package websocket_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/coder/websocket"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/topic"
	rswebsocket "github.com/resourcesync-go/resourcesync/topic/websocket"
)

// A Server is given to a Source as rshttp.Options.WebSocket; here it stands alone.
func Example() {
	notifications := topic.NewMemoryLog() // of the Source
	server, err := rswebsocket.New(&rswebsocket.Options{Origins: []string{"www.example.org"}})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go server.Run(ctx, notifications)

	const uri = "https://example.org/resourcesync/papers/change/"
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server.ServeTopic(w, r, uri)
	}))
	defer site.Close()

	conn := connect(ctx, site.URL)
	defer conn.CloseNow()
	// In a program the Source does this.
	err = notifications.Append(ctx, pushlog.Notification{Topic: uri, Body: []byte("<urlset/>")}, pushlog.State{}, pushlog.State{Number: 1})
	if err != nil {
		log.Fatal(err)
	}
	_, message, err := conn.Read(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(message))
	// Output: <urlset/>
}

// connect connects as soon as the server runs.
func connect(ctx context.Context, url string) *websocket.Conn {
	for {
		conn, _, err := websocket.Dial(ctx, url, nil)
		if err == nil {
			return conn
		}
	}
}
