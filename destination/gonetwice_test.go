package destination_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/destination"
)

// handled answers requests by a handler, without a network.
type handled struct{ http.Handler }

// RoundTrip implements [http.RoundTripper].
func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	res := rec.Result()
	res.Request = r
	return res, nil
}

// TestGoneTwice has a Change List that creates a resource without a time, which the Resource List
// lacks and the server does not have. Two answers at least an hour apart settle the question. Each
// run asks it again, because both can be mistakes.
func TestGoneTwice(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := &script{pages: history(map[string]string{"/chl.xml": changesIn("", "created c"), "/c": "-"}), requests: make(map[string]int)}
		s.remove("/c")
		d, err := openSimulated("http://source.example/", dir, &destination.Options{Logger: slog.New(slog.DiscardHandler)}, handled{http.HandlerFunc(s.ServeHTTP)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		for i, step := range []struct {
			wait            time.Duration
			failed, created int64
		}{
			{0, 1, 2}, // the Resource List has two
			{50 * time.Minute, 1, 0},
			{11 * time.Minute, 0, 0},
			{time.Minute, 0, 0},
			{time.Minute, 0, 1},
		} {
			time.Sleep(step.wait)
			clear(s.requests)
			if step.created == 1 {
				s.set(map[string]string{"/c": "c"})
			}
			r, err := d.Sync(context.Background())
			if err != nil || r.Failed != step.failed || r.Created != step.created || s.requests["/c"] == 0 {
				t.Errorf("run %d: %d requests, %+v, %v", i, s.requests["/c"], r, err)
			}
		}
	})
}
