package topic_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/linkheader"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
)

// A set's changes are sent to a hub, here one that prints what it gets. Package
// rshttp does all of this for a Source.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	took := make(chan struct{})
	hub := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for link := range linkheader.Find(linkheader.Parse(r.Header.Values("Link")...), resourcesync.RelSelf) {
			fmt.Println("topic", link.Target)
		}
		head, entries, err := rsxml.Decode(r.Body, nil)
		if err != nil {
			log.Print(err)
		}
		fmt.Println(head.Metadata.Capability)
		for _, e := range entries {
			fmt.Println(e.Metadata.Change, e.Loc)
		}
		close(took)
	}))
	defer hub.Close()

	papers := memory.New(nil)
	channel := topic.Channel{
		Topic:          "https://example.org/resourcesync/papers/change/",
		CapabilityList: "https://example.org/resourcesync/papers/capabilitylist.xml",
		Hubs:           []topic.Hub{{URI: hub.URL}},
		Changer:        papers,
		Watcher:        papers,
		Stater:         papers,
	}
	notifications := topic.NewMemoryLog() // a durable one: (*sqlstore.Store).Log
	publisher, err := topic.NewPublisher(notifications, []topic.Channel{channel}, nil)
	if err != nil {
		log.Fatal(err)
	}
	go publisher.Run(ctx)
	// The topic itself: what it answers links to the hub.
	mux := http.NewServeMux()
	mux.HandleFunc("/resourcesync/papers/change/", func(w http.ResponseWriter, r *http.Request) {
		publisher.ServeTopic(w, r, channel.Topic)
	})

	// What there is before the channel begins is not told.
	for begun := false; !begun; {
		state, err := notifications.State(ctx, channel.Topic)
		if err != nil {
			log.Fatal(err)
		}
		begun = !state.Until.IsZero()
		time.Sleep(10 * time.Millisecond)
	}
	if err := papers.Put(resourcesync.Resource{Key: "1", URI: "https://example.org/papers/1"}); err != nil {
		log.Fatal(err)
	}
	<-took
	// Output:
	// topic https://example.org/resourcesync/papers/change/
	// change-notification
	// created https://example.org/papers/1
}
