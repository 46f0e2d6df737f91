package hub

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What retention drops before a subscriber has had it is logged, once, and counted.
func TestV24_Dropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, log := NewMemoryStore(), &lockedBuffer{}
		o := deliveryOptions()
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
		o.GiveUp, o.Retain, o.Retry = 2*time.Hour, 2*time.Hour, 0
		h := deliveryHub(t, store, o)
		h.transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "well" {
				return answered(http.StatusOK, nil), nil
			}
			return answered(http.StatusServiceUnavailable, http.Header{"Retry-After": {"21600"}}), nil
		})
		for _, callback := range []string{"http://well/", "http://down/?" + testQuery, "http://broken/?" + testQuery} {
			subscribed(t, store, callback, "", 24*time.Hour)
		}
		for _, body := range []string{"one", "two", "three"} {
			publish(t, h, body)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- h.Run(ctx) }()
		time.Sleep(4 * time.Hour)
		s, err := h.Status(t.Context())
		if err != nil || s.Deliveries.Dropped != 4 {
			t.Errorf("%d are dropped, %v", s.Deliveries.Dropped, err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		want := "topic=" + testTopic + " messages=2 subscriptions=2\n"
		if text := log.String(); strings.Count(text, "too old") != 1 || !strings.Contains(text, want) || strings.Contains(text, testQuery) {
			t.Errorf("the log has no line with %s:\n%s", want, text)
		}
	})
}
