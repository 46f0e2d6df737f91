package hub_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync"

	"github.com/resourcesync-go/resourcesync/topic/hub"
	"github.com/resourcesync-go/resourcesync/topic/topiclog"
)

// A hub on the mux of an application, and a subscriber to it. A Source does this with
// rshttp.Options.Hub.
func Example() {
	// On the internet a hub needs no options.
	h, err := hub.New("https://example.org/websub/", topiclog.NewMemory(), &hub.Options{
		AllowCallbacks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
	})
	if err != nil {
		log.Fatal(err)
	}
	// The Source registers its topics.
	h.Register("https://example.org/resourcesync/papers/change/")

	mux := http.NewServeMux()
	mux.Handle("/websub/", h)
	server := httptest.NewServer(mux)
	defer server.Close()

	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := h.Run(ctx); err != nil {
			log.Print(err)
		}
	})
	defer running.Wait()
	defer stop()

	// The hub asks the subscriber to confirm its intent.
	asked := make(chan url.Values, 1)
	subscriber := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Query()
		io.WriteString(w, r.FormValue("hub.challenge"))
	}))
	defer subscriber.Close()

	answer, err := http.PostForm(server.URL+"/websub/", url.Values{
		"hub.mode":          {"subscribe"},
		"hub.topic":         {"https://example.org/resourcesync/papers/change/"},
		"hub.callback":      {subscriber.URL + "/inbox"},
		"hub.lease_seconds": {"3600"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	fmt.Println(answer.Status)
	confirm := <-asked
	fmt.Println(confirm.Get("hub.mode"), confirm.Get("hub.topic"), confirm.Get("hub.lease_seconds"))
	// Output:
	// 202 Accepted
	// subscribe https://example.org/resourcesync/papers/change/ 3600
}
