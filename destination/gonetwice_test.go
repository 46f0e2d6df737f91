package destination_test

import (
	"context"
	"log/slog"
	"maps"
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

// TestGoneUnlisted has a change that is listed late, of a resource that is gone, before the Change List
// starts over. A later Resource List, which lacks the resource, and another answer settle the question.
func TestGoneUnlisted(t *testing.T) {
	s, url := newDated(t, history(map[string]string{"/chl.xml": changesIn(`from="2013-01-01T00:00:00Z"`, "updated a 2013-01-03T09:59:00Z")}))
	s.remove("/c")
	m := openMirror(t, url, t.TempDir(), nil)
	for i, step := range []struct {
		date            string
		pages           map[string]string
		failed, created int64
	}{
		{"Thu, 03 Jan 2013 10:00:00 GMT", nil, 0, 2},
		{"Thu, 03 Jan 2013 10:05:00 GMT", map[string]string{
			"/chl.xml": changesIn(`from="2013-01-01T00:00:00Z"`, "created c 2013-01-03T09:58:00Z", "updated a 2013-01-03T09:59:00Z"),
		}, 1, 0},
		{"Thu, 03 Jan 2013 11:05:00 GMT", map[string]string{
			"/rl.xml":  resourcesAt("2013-01-03T11:00:00Z", "listed a =2013-01-02T13:00:00Z", "listed b =2013-01-02T14:00:00Z"),
			"/chl.xml": changesIn(`from="2013-01-03T11:00:00Z"`),
		}, 0, 0},
		{"Thu, 03 Jan 2013 11:06:00 GMT", nil, 0, 0},
		{"Thu, 03 Jan 2013 11:07:00 GMT", map[string]string{"/c": "c"}, 0, 1}, // it was a mistake
	} {
		s.mu.Lock()
		maps.Copy(s.pages, step.pages)
		s.date = step.date
		s.mu.Unlock()
		if r := m.sync(t); r.Failed != step.failed || r.Created != step.created {
			t.Errorf("run %d: %+v", i, r)
		}
	}
}
