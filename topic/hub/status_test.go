package hub

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// counting counts how often messages and subscriptions are read.
type counting struct {
	pushlog.Log
	reads, subscriptions int
}

func (s *counting) Subscriptions(ctx context.Context) iter.Seq2[pushlog.Subscription, error] {
	s.subscriptions++
	return s.Log.Subscriptions(ctx)
}

func (s *counting) Read(ctx context.Context, topic string, after int64, max, maxBytes int) ([]pushlog.Notification, error) {
	s.reads++
	return s.Log.Read(ctx, topic, after, max, maxBytes)
}

// The status finds the waiting subscriptions, and since when they wait, by reading few
// messages, even if the subscriptions have many cursors.
func TestStatusOfManyPlaces(t *testing.T) {
	store := &counting{Log: pushlog.NewMemory()}
	h := deliveryHub(t, store, deliveryOptions())
	for i := range 300 {
		subscribed(t, store, fmt.Sprintf("http://s%d/", i), "", time.Hour) // has taken i
		publish(t, h, "x")
	}
	subscribed(t, store, "http://all/", "", time.Hour)
	for _, ended := range []int64{1, 2, 3} {
		if err := store.End(t.Context(), ended*2); err != nil { // IDs are of requests, too
			t.Fatal(err)
		}
	}
	fourth, err := store.Log.Read(t.Context(), testTopic, 3, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	s, err := h.Inspect(t.Context(), func(sub Subscription) {
		if n++; sub.Topic != testTopic || sub.Callback == "" || sub.Made.IsZero() {
			t.Errorf("%+v", sub)
		}
	})
	if n != 298 || store.subscriptions != 1 {
		t.Errorf("%d subscriptions were read %d times", n, store.subscriptions)
	}
	if err != nil || s.Subscriptions != 298 || s.Waiting != 297 || !s.OldestWaiting.Equal(fourth[0].Made) {
		t.Errorf("%+v, %v", s, err)
	}
	if store.reads > 12 {
		t.Errorf("messages were read %d times", store.reads)
	}
}
