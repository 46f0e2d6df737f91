package hub

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// counting counts how often messages are read.
type counting struct {
	Store
	reads int
}

func (s *counting) Messages(ctx context.Context, topic string, after int64, max, maxBytes int) ([]Message, error) {
	s.reads++
	return s.Store.Messages(ctx, topic, after, max, maxBytes)
}

// Who waits, and since when, of subscriptions at many places, is found by looking at
// few messages.
func TestStatusOfManyPlaces(t *testing.T) {
	store := &counting{Store: NewMemoryStore()}
	h := deliveryHub(t, store, deliveryOptions())
	publishedAt := make([]time.Time, 0, 300)
	for i := range 300 {
		publishedAt = append(publishedAt, time.Now().Add(time.Duration(i-300)*time.Second))
		m := Message{Topic: testTopic, ID: fmt.Sprint(i), Body: []byte("x"), Published: publishedAt[i]}
		subscribed(t, store, fmt.Sprintf("http://s%d/", i), "", time.Hour) // has taken i
		if _, err := store.Publish(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	subscribed(t, store, "http://all/", "", time.Hour)
	for _, ended := range []int64{1, 2, 3} {
		if err := store.End(t.Context(), ended*2); err != nil { // IDs are of requests, too
			t.Fatal(err)
		}
	}
	s, err := h.Status(t.Context())
	if err != nil || s.Subscriptions != 298 || s.Waiting != 297 || !s.OldestWaiting.Equal(publishedAt[3]) {
		t.Errorf("%+v, %v", s, err)
	}
	if store.reads > 12 {
		t.Errorf("messages were read %d times", store.reads)
	}
}
