package hub

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// If a callback refuses or aborts a request over HTTP/2 that it cannot have processed,
// the request is sent again at once and is not a failure. If it may have processed the
// request without answering, the attempt is a failure, and is retried as one.
func TestWH43_WH46_V20_HTTP2(t *testing.T) {
	for name, test := range map[string]struct {
		answer   func(c *frameConn, n int, stream uint32)
		failures int64
		want     []string
		conns    int
	}{
		"refused stream": {func(c *frameConn, n int, stream uint32) {
			if n == 2 {
				c.refuse(stream)
				return
			}
			c.taken(stream)
		}, 0, []string{"one", "two", "two", "three"}, 1},
		"going away before": {func(c *frameConn, n int, stream uint32) {
			if n == 2 {
				c.goAway(stream - 2)
				return
			}
			c.taken(stream)
		}, 0, []string{"one", "two", "two", "three"}, 2},
		"going away after": {func(c *frameConn, n int, stream uint32) {
			if n == 2 {
				c.goAway(stream)
			}
			c.taken(stream)
		}, 0, []string{"one", "two", "three"}, 2},
		"gone without an answer": {func(c *frameConn, n int, stream uint32) {
			if n == 2 {
				c.goAway(stream)
				c.Close()
				return
			}
			c.taken(stream)
		}, 1, []string{"one", "two", "two", "three"}, 2},
		"closed without an answer": {func(c *frameConn, n int, stream uint32) {
			if n == 2 {
				c.Close()
				return
			}
			c.taken(stream)
		}, 1, []string{"one", "two", "two", "three"}, 2},
		"broken off after the status": {func(c *frameConn, n int, stream uint32) {
			if n == 2 {
				c.frame(frameHeaders, flagEndHeaders, stream, 0x80|9)
				c.refuse(stream)
				return
			}
			c.taken(stream)
		}, 0, []string{"one", "two", "three"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ca := newAuthority(t)
			s := newFrameServer(t, ca.certificate("callback.example"), test.answer)
			f := idleFront(t, named(t, nil))
			ca.trusted(f.Hub)
			f.subscribed(at("callback.example", s.url), testSecret)
			f.run()
			for i, body := range []string{"one", "two", "three"} {
				publish(t, f.Hub, body)
				within(t, body+" is taken", func() bool { return only(t, f.store).Progress.Delivered == int64(i+1) })
			}
			d, err := f.Status(t.Context())
			if got := d.Deliveries.Unanswered; err != nil || got != test.failures {
				t.Errorf("%d failures, %v; want %d", got, err, test.failures)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if !slices.Equal(s.bodies, test.want) || s.conns != test.conns {
				t.Errorf("delivered %q over %d connections, want %q over %d", s.bodies, s.conns, test.want, test.conns)
			}
		})
	}
}

// A callback that refuses every stream gets only a few requests in one attempt, which
// ends in time.
func TestV15_RefusesForEver(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	ca := newAuthority(t)
	s := newFrameServer(t, ca.certificate("callback.example"), func(c *frameConn, n int, stream uint32) { c.refuse(stream) })
	o := named(t, nil)
	o.Timeout, o.Retry = 2500*time.Millisecond, time.Hour
	f := idleFront(t, o)
	ca.trusted(f.Hub)
	f.subscribed(at("callback.example", s.url), "")
	f.run()
	publish(t, f.Hub, "message")
	within(t, "the attempt fails", func() bool { return only(t, f.store).Progress.Failures == 1 })
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.bodies); n > 8 {
		t.Errorf("sent %d times in one attempt", n)
	}
}

// Over HTTP/2, too, a host has a limited number of places, a request has a time limit,
// and only a request that hangs is aborted.
func TestV15_HTTP2(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	var underWay gauge
	var cut atomic.Int64
	ended := make(chan struct{})
	defer close(ended)
	c := newTLSCallback(t, ca.certificate("callback.example"), true, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/hangs") {
			select {
			case <-r.Context().Done():
				cut.Add(1)
			case <-ended:
			}
		}
	})
	o := named(t, nil)
	o.Timeout, o.PerHost, o.Retry = 500*time.Millisecond, 4, time.Hour
	f := idleFront(t, o)
	ca.trusted(f.Hub)
	https := f.transport
	f.transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		defer underWay.enter()()
		return https.RoundTrip(r)
	})
	const each = 8
	for i := range each {
		f.subscribed(fmt.Sprintf("%s/hangs/%d", at("callback.example", c.URL), i), "")
		f.subscribed(fmt.Sprintf("%s/well/%d", at("callback.example", c.URL), i), "")
	}
	f.run()
	publish(t, f.Hub, "message")
	within(t, "all have been tried", func() bool {
		return f.deliveryTotals.Load().Delivered == each && f.deliveryTotals.Load().Unanswered == each
	})
	within(t, "the callback has heard that it was cut off", func() bool { return cut.Load() == each })
	if n := underWay.highest(); n > 4 {
		t.Errorf("%d deliveries to one host at a time", n)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.names) > 4 || slices.ContainsFunc(c.protos, func(proto string) bool { return proto != "HTTP/2.0" }) {
		t.Errorf("%d connections of %q", len(c.names), c.protos)
	}
}

// V3: a connection whose certificate is also valid for another name is not reused for
// it: the address of that name is still checked.
func TestV3_HTTP2ConnectionsAreOfOneName(t *testing.T) {
	ca := newAuthority(t)
	c := newTLSCallback(t, ca.certificate("callback.example", "closed.example"), true, nil)
	f := idleFront(t, named(t, map[string]string{"closed.example": "127.0.0.2"}))
	ca.trusted(f.Hub)
	f.subscribed(at("callback.example", c.URL), "")
	f.run()
	publish(t, f.Hub, "one")
	within(t, "the first is delivered", func() bool { return f.deliveryTotals.Load().Delivered == 1 })
	f.accepted(at("closed.example", c.URL))
	if n := len(f.subscriptions()); n != 1 || f.requestTotals.Load().Unverified != 1 {
		t.Errorf("%d subscriptions", n)
	}
	within(t, "the log says why", func() bool { return strings.Contains(f.log.String(), errForbidden.Error()+": 127.0.0.2") })
}

// If a connection of HTTP/2 dies silently, as behind a router that has forgotten it, it
// is closed soon, and the callback is reached over a new one.
func TestV20_DeadConnection(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	c := newTLSCallback(t, ca.certificate("callback.example"), true, nil)
	end := newDeadEnd(t, c.Listener.Addr().String())
	o := named(t, nil)
	o.Timeout = 200 * time.Millisecond
	f := idleFront(t, o)
	ca.trusted(f.Hub)
	f.subscribed(at("callback.example", "https://"+end.Addr().String()), "")
	f.run()
	publish(t, f.Hub, "one")
	within(t, "the first is delivered", func() bool { return f.deliveryTotals.Load().Delivered == 1 })
	end.die()
	publish(t, f.Hub, "two")
	within(t, "the second is delivered", func() bool { return f.deliveryTotals.Load().Delivered == 2 })
}
