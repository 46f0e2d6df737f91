package hub

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/linkheader"
)

// The rows of WebSub that concern deliveries. WH37 is tested here for deliveries only.

func TestWH6_ContentTypeOfTheTopic(t *testing.T) {
	d := once(t, "/", "", deliveryOptions())
	if got := d.header["Content-Type"]; !slices.Equal(got, []string{"application/xml"}) {
		t.Errorf("Content-Type %q", got)
	}
}

// WH7: the hub does not use the freedom to send differences; it delivers whole
// messages, however little they differ from the previous one.
func TestWH7_NoDifferences(t *testing.T) {
	store := pushlog.NewMemory()
	h := deliveryHub(t, store, deliveryOptions())
	c := newCallback(t, nil)
	subscribed(t, store, c.URL, "", time.Hour)
	start(t, h)
	first := "<urlset>" + strings.Repeat("<url/>", 1000) + "</urlset>"
	bodies := []string{first, first + "\n", first[:len(first)-10] + "</urlset>"}
	for _, body := range bodies {
		publish(t, h, body)
	}
	c.await(t, len(bodies))
	if got := c.bodies(); !slices.Equal(got, bodies) {
		t.Errorf("delivered %q", got)
	}
}

func TestWH8_SignatureOnlyWithASecret(t *testing.T) {
	if d := once(t, "/", "s3cret", deliveryOptions()); len(d.header["X-Hub-Signature"]) != 1 {
		t.Errorf("with a secret: %q", d.header["X-Hub-Signature"])
	}
	if d := once(t, "/", "", deliveryOptions()); d.header["X-Hub-Signature"] != nil {
		t.Errorf("without one: %q", d.header["X-Hub-Signature"])
	}
}

func TestWH9_WH39_RS20_WholePayloadByPOST(t *testing.T) {
	d := once(t, "/", "", deliveryOptions())
	if d.method != "POST" || d.body != "<urlset/>\n" {
		t.Errorf("%s with %q", d.method, d.body)
	}
}

func TestWH22_WH53_ExactCallback(t *testing.T) {
	for _, path := range []string{"/a%2Fb/%7e?x=1&hub.mode=a%20b&x=%zz;y", "/?", "?q=1", "/a//b;c/../d", "//a"} {
		want := path
		if path[0] == '?' {
			want = "/" + path
		}
		if d := once(t, path, "", deliveryOptions()); d.uri != want {
			t.Errorf("the callback %s was sent to as %s", path, d.uri)
		}
	}
}

func TestWH37_NothingAfterTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := pushlog.NewMemory()
		var w *world
		w = newWorld(func(callback string, message int, r *http.Request) (int, error) {
			w.take(callback, message)
			if callback == "ends" {
				time.Sleep(time.Second) // the claim goes on, the lease does not
			}
			return http.StatusNoContent, nil
		})
		subscribed(t, store, "http://ends/", "", time.Second)
		p := newProcess(t, store, w, deliveryOptions())
		publish(t, p.hub, "1 ")
		publish(t, p.hub, "2 ")
		time.Sleep(10 * time.Second)
		subscribed(t, store, "http://other/", "", time.Hour)
		publish(t, p.hub, "3 ")
		time.Sleep(10 * time.Second)
		if ends, other := w.of("ends"), w.of("other"); !slices.Equal(ends, []int{1}) || !slices.Equal(other, []int{3}) {
			t.Errorf("delivered %v after the lease, and %v to another", ends, other)
		}
	})
}

func TestWH40_WH41_WH42_RS20_LinksInOneHeader(t *testing.T) {
	d := once(t, "/", "", deliveryOptions())
	if n := len(d.header["Link"]); n != 1 {
		t.Fatalf("%d Link headers", n)
	}
	links := map[string][]string{}
	for _, l := range linkheader.Parse(d.header.Get("Link")) {
		links[l.Rel] = append(links[l.Rel], l.Target)
	}
	want := map[string]string{"self": testTopic, "hub": testHub, "resourcesync": "https://example.org/capabilitylist.xml"}
	for rel, target := range want {
		if !slices.Equal(links[rel], []string{target}) {
			t.Errorf("%s: %q", rel, links[rel])
		}
	}
	if len(links) != len(want) {
		t.Errorf("links %v", links)
	}
}

// TestWH43_RS21_V5_OnlySuccessIsSuccess answers with each status once. The message is
// sent again exactly after statuses that are not success.
func TestWH43_RS21_V5_OnlySuccessIsSuccess(t *testing.T) {
	t.Parallel()
	store := pushlog.NewMemory()
	h := deliveryHub(t, store, deliveryOptions())
	elsewhere := newCallback(t, nil)
	callbacks := map[int]*callback{}
	for _, code := range []int{200, 201, 202, 204, 206, 226, 299, 300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 408, 409, 418, 425, 429, 499, 500, 502, 503, 504, 599, 600, 999} {
		callbacks[code] = newCallback(t, func(w http.ResponseWriter, r *http.Request, n int) {
			if n == 1 {
				w.Header().Set("Location", elsewhere.URL)
				w.WriteHeader(code)
			}
		})
		subscribed(t, store, callbacks[code].URL, "", time.Hour)
	}
	stop := start(t, h)
	publish(t, h, "message")
	within(t, "all have the message", func() bool {
		s, err := h.Status(t.Context())
		return err == nil && s.Waiting == 0
	})
	stop()
	for code, c := range callbacks {
		want := 2
		if code/100 == 2 {
			want = 1
		}
		if got := len(c.deliveries()); got != want {
			t.Errorf("after %d: sent %d times, want %d", code, got, want)
		}
	}
	for sub := range store.Subscriptions(t.Context()) {
		if p := sub.Progress; p.Delivered != 1 || time.Since(p.LastDelivered) > time.Minute || p.Failures != 0 || p.LastError != "" || !p.FailingSince.IsZero() || !p.Retry.IsZero() {
			t.Errorf("what failed is not forgotten: %+v", p)
		}
	}
	if n := len(elsewhere.deliveries()); n > 0 {
		t.Errorf("%d redirects were followed", n)
	}
	s, err := h.Status(t.Context())
	if d := s.Deliveries; err != nil || d.Redirected != 7 || d.Refused != 10 || d.Failed != 7 || d.Delivered != int64(len(callbacks)) {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestWH44_GoneEndsTheSubscription(t *testing.T) {
	store := pushlog.NewMemory()
	h := deliveryHub(t, store, deliveryOptions())
	gone, other := newCallback(t, status(http.StatusGone)), newCallback(t, nil)
	subscribed(t, store, gone.URL, "", time.Hour)
	subscribed(t, store, other.URL, "", time.Hour)
	start(t, h)
	publish(t, h, "one")
	gone.await(t, 1)
	other.await(t, 1)
	within(t, "the subscription has ended", func() bool {
		n := 0
		for range store.Subscriptions(t.Context()) {
			n++
		}
		return n == 1
	})
	if sub := only(t, store); sub.Callback != other.URL {
		t.Errorf("left is %s", sub.Callback)
	}
	publish(t, h, "two")
	other.await(t, 2)
	if n := len(gone.deliveries()); n != 1 {
		t.Errorf("sent %d times to a callback that is gone", n)
	}
	if s, err := h.Status(t.Context()); err != nil || s.Deliveries.Ended != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestWH45_V14_AnswerIsIgnored(t *testing.T) {
	store := pushlog.NewMemory()
	o := deliveryOptions()
	h := deliveryHub(t, store, o)
	const stop = "410 Gone: hub.mode=unsubscribe, stop it"
	c := newCallback(t, func(w http.ResponseWriter, r *http.Request, n int) {
		switch n {
		case 1:
			fmt.Fprint(w, stop)
		case 2: // more than anybody wants
			for i := 0; i < 1000; i++ {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
			t.Error("64 MB of an answer were read")
		case 3:
			http.Error(w, stop, http.StatusInternalServerError)
		}
	})
	subscribed(t, store, c.URL, "", time.Hour)
	start(t, h)
	for _, body := range []string{"one", "two", "three"} {
		publish(t, h, body)
	}
	c.await(t, 4)
	if got := c.bodies(); !slices.Equal(got, []string{"one", "two", "three", "three"}) {
		t.Errorf("delivered %q", got)
	}
}

// TestWH46_Retries is TestWH46_V17_RetriesDouble with real responses.
func TestWH46_Retries(t *testing.T) {
	t.Parallel()
	store := pushlog.NewMemory()
	h := deliveryHub(t, store, deliveryOptions())
	c := newCallback(t, func(w http.ResponseWriter, r *http.Request, n int) {
		switch n {
		case 1:
			panic(http.ErrAbortHandler) // no answer at all
		case 2:
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3:
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprint(conn, "SPAM/1.1 200 OK\r\n\r\n")
			conn.Close()
		}
	})
	subscribed(t, store, c.URL, "", time.Hour)
	start(t, h)
	publish(t, h, "one")
	publish(t, h, "two")
	c.await(t, 5)
	if got := c.bodies(); !slices.Equal(got, []string{"one", "one", "one", "one", "two"}) {
		t.Errorf("delivered %q", got)
	}
	s, err := h.Status(t.Context())
	if err != nil || s.Deliveries.Failed != 1 || s.Deliveries.Unanswered != 2 || s.Deliveries.Retried != 3 {
		t.Errorf("%+v, %v", s.Deliveries, err)
	}
}

func TestWH49_WH50_WH54_V23_SignatureOfTheBody(t *testing.T) {
	secret := strings.Repeat("\x00\xffä", 30)
	for method, h := range map[string]func() hash.Hash{"": sha256.New, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New} {
		o := deliveryOptions()
		o.Signature = method
		d := once(t, "/", secret, o)
		mac := hmac.New(h, []byte(secret))
		mac.Write([]byte(d.body))
		if method == "" {
			method = "sha256"
		}
		if want := method + "=" + hex.EncodeToString(mac.Sum(nil)); d.header.Get("X-Hub-Signature") != want {
			t.Errorf("X-Hub-Signature %q, want %q", d.header.Get("X-Hub-Signature"), want)
		}
	}
}

// TestV19_MessageIDIsStable: a message that fails and is sent again by another hub
// keeps its ID.
func TestV19_MessageIDIsStable(t *testing.T) {
	t.Parallel()
	store := pushlog.NewMemory()
	c := newCallback(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	subscribed(t, store, c.URL, "", time.Hour)
	first := deliveryHub(t, store, deliveryOptions())
	publish(t, first, "one")
	stop := start(t, first)
	c.await(t, 1)
	stop()
	second := deliveryHub(t, store, deliveryOptions())
	publish(t, second, "two")
	start(t, second)
	got := c.await(t, 3)
	id := func(i int) string { return got[i].header.Get("X-Hub-Message-Id") }
	if id(0) == "" || id(0) != id(1) || id(1) == id(2) {
		t.Errorf("IDs %q, %q, %q", id(0), id(1), id(2))
	}
}

// TestClosingConnection: a callback that closes connections between messages, as
// servers do, is not a failure.
func TestClosingConnection(t *testing.T) {
	store := pushlog.NewMemory()
	o := deliveryOptions()
	o.Retry = time.Hour
	h := deliveryHub(t, store, o)
	c := newCallback(t, nil)
	subscribed(t, store, c.URL, "", time.Hour)
	start(t, h)
	for i := range 20 {
		publish(t, h, fmt.Sprint(i))
		c.await(t, i+1)
		c.CloseClientConnections()
	}
}

// TestNothingLeaks: a hub that has had all sorts of connections leaves nothing behind.
func TestNothingLeaks(t *testing.T) {
	store := pushlog.NewMemory()
	o := deliveryOptions()
	o.Resolver = newNameServer(t, map[string][]string{"well": {"127.0.0.1"}, "fails": {"127.0.0.1"}, "hangs": {"127.0.0.1"}}).resolver()
	h := deliveryHub(t, store, o)
	ended := make(chan struct{})
	well, fails := newCallback(t, nil), newCallback(t, status(500))
	hangs := newCallback(t, func(w http.ResponseWriter, r *http.Request, n int) {
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	})
	defer close(ended)
	for i := range 20 {
		for name, c := range map[string]*callback{"well": well, "fails": fails, "hangs": hangs} {
			subscribed(t, store, fmt.Sprintf("%s/%d", at(name, c.URL), i), "", time.Hour)
		}
	}
	stop := start(t, h)
	publish(t, h, "one")
	well.await(t, 20)
	fails.await(t, 20)
	hangs.await(t, 1)
	stop()
	within(t, "no goroutine of the hub or its connections is left", func() bool {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return !bytes.Contains(stacks, []byte("hub.(*deliverer)")) && !bytes.Contains(stacks, []byte("net/http.(*persistConn)"))
	})
}
