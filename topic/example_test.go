package topic_test

import (
	"fmt"
	"log"
	"log/slog"
	"net/http/httptest"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
)

// A Source sends the notifications of a set to a remote hub, at most one every five seconds.
// Its Capability List names each topic with the hub.
func Example() {
	src, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{
		Provider:   memory.New(nil),
		RemoteHubs: []topic.RemoteHub{{URI: "https://hub.example.net/"}},
	}}, &rshttp.Options{
		Push:   topic.Options{Flush: 5 * time.Second},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	// A program also calls src.Run, which sends the notifications.

	w := httptest.NewRecorder()
	src.ServeHTTP(w, httptest.NewRequest("GET", "/resourcesync/capabilitylist.xml", nil))
	_, entries, err := rsxml.Decode(w.Body)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range entries {
		for _, link := range e.Links {
			if link.Rel == "hub" {
				fmt.Println(e.Metadata.Capability, e.Loc, link.Href)
			}
		}
	}
	// Output:
	// change-notification https://example.org/resourcesync/change/ https://hub.example.net/
	// framework-notification https://example.org/resourcesync/framework/ https://hub.example.net/
}
