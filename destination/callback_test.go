package destination

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"testing"
	"time"
)

const (
	testTopic    = "https://example.org/change/"
	testCallback = "https://mirror.example.net/callback/"
)

var testKey = channelKey{true, testTopic}

// newTestSubscription returns a subscription that its hub may verify.
func newTestSubscription(t *testing.T) (*Callback, *subscription) {
	t.Helper()
	c, err := NewCallback(strings.TrimSuffix(testCallback, "/"))
	if err != nil {
		t.Fatal(err)
	}
	s := &subscription{
		channel:      channel{key: testKey, inbox: newInbox(), log: slog.New(slog.DiscardHandler), watch: new(watch)},
		Subscription: newSubscription(testTopic, c.mux.URL), events: make(chan event, 1), deliveries: c.deliveries, mode: "subscribe", topic: testTopic,
	}
	c.mux.Set(path.Base(s.Callback), s)
	return c, s
}

func signed(method string, algorithm func() hash.Hash, secret, body string) string {
	mac := hmac.New(algorithm, []byte(secret))
	io.WriteString(mac, body)
	return fmt.Sprintf("%s=%x", method, mac.Sum(nil))
}

// TestDelivery has deliveries with signatures of all kinds.
func TestDelivery(t *testing.T) {
	const body = "<urlset/>"
	long := strings.Repeat("x", maxNotification+1)
	for name, test := range map[string]struct {
		body   string
		sign   func(secret string) string
		status int
		kept   int
		missed bool
	}{
		"SHA-256":      {body, func(s string) string { return signed("sha256", sha256.New, s, body) }, 202, 1, false},
		"SHA-384":      {body, func(s string) string { return signed("sha384", sha512.New384, s, body) }, 202, 1, false},
		"SHA-512":      {body, func(s string) string { return signed("SHA512", sha512.New, s, body) }, 202, 1, false},
		"SHA-1":        {body, func(s string) string { return signed("sha1", sha1.New, s, body) }, 202, 0, false},
		"none":         {body, func(string) string { return "" }, 202, 0, false},
		"wrong secret": {body, func(s string) string { return signed("sha256", sha256.New, s+"x", body) }, 202, 0, false},
		"wrong method": {body, func(s string) string { return signed("sha512", sha256.New, s, body) }, 202, 0, false},
		"other body":   {body, func(s string) string { return signed("sha256", sha256.New, s, body+" ") }, 202, 0, false},
		"no digest":    {body, func(s string) string { return "sha256=xyz" }, 202, 0, false},
		"long":         {long, func(s string) string { return signed("sha256", sha256.New, s, long) }, 202, 0, true},
		"long, forged": {long, func(s string) string { return signed("sha256", sha256.New, s, body) }, 202, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := newTestSubscription(t)
			r := httptest.NewRequest(http.MethodPost, s.Callback, strings.NewReader(test.body))
			if signature := test.sign(s.Secret); signature != "" {
				r.Header.Set("X-Hub-Signature", signature)
			}
			w := httptest.NewRecorder()
			c.ServeHTTP(w, r)
			all, missed := s.inbox.take()
			if w.Code != test.status || len(all) != test.kept || missed[testKey] != test.missed {
				t.Errorf("status %d, %d kept, missed %v", w.Code, len(all), missed)
			}
			if len(all) == 1 && string(all[0].body) != body {
				t.Errorf("kept %q", all[0].body)
			}
		})
	}
}

// TestDeliveryLimits has an endless delivery, more simultaneous deliveries than the limit, and
// more than an inbox holds.
func TestDeliveryLimits(t *testing.T) {
	c, s := newTestSubscription(t)
	deliver := func(body io.Reader, signature string) int {
		r := httptest.NewRequest(http.MethodPost, s.Callback, body)
		r.Header.Set("X-Hub-Signature", signature)
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		return w.Code
	}
	if status := deliver(endless{}, "sha256=00"); status != http.StatusRequestEntityTooLarge {
		t.Errorf("an endless delivery is answered %d", status)
	}
	for range maxDeliveries {
		c.deliveries <- struct{}{}
	}
	if status := deliver(strings.NewReader(""), "sha256=00"); status != http.StatusServiceUnavailable {
		t.Errorf("with many deliveries, the answer is %d", status)
	}
	for range maxDeliveries {
		<-c.deliveries
	}
	body := strings.Repeat("x", 1<<20)
	signature := signed("sha256", sha256.New, s.Secret, body)
	for range 20 {
		if status := deliver(strings.NewReader(body), signature); status != http.StatusAccepted {
			t.Errorf("answered %d", status)
		}
	}
	if all, missed := s.inbox.take(); len(all) != 15 || !missed[testKey] {
		t.Errorf("%d are kept, missed %v", len(all), missed)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestVerification has verifications of wanted and unwanted subscriptions.
func TestVerification(t *testing.T) {
	for name, test := range map[string]struct {
		mode   string // that is wanted
		url    string // "" is the callback
		query  url.Values
		status int
		want   *event
	}{
		"wanted": {"subscribe", "", url.Values{"hub.mode": {"subscribe"}, "hub.topic": {testTopic}, "hub.challenge": {"<b>1"}, "hub.lease_seconds": {"600"}},
			200, &event{lease: 10 * time.Minute}},
		"no lease": {"subscribe", "", url.Values{"hub.mode": {"subscribe"}, "hub.topic": {testTopic}, "hub.challenge": {"1"}},
			200, &event{lease: unstatedLease}},
		"end wanted": {"unsubscribe", "", url.Values{"hub.mode": {"unsubscribe"}, "hub.topic": {testTopic}, "hub.challenge": {"1"}},
			200, &event{lease: unstatedLease}},
		"denied": {"subscribe", "", url.Values{"hub.mode": {"denied"}, "hub.topic": {testTopic}, "hub.reason": {"full"}},
			204, &event{denied: true, reason: "full"}},
		"end not wanted": {"subscribe", "", url.Values{"hub.mode": {"unsubscribe"}, "hub.topic": {testTopic}, "hub.challenge": {"1"}}, 404, nil},
		"not wanted":     {"unsubscribe", "", url.Values{"hub.mode": {"subscribe"}, "hub.topic": {testTopic}, "hub.challenge": {"1"}}, 404, nil},
		"other topic":    {"subscribe", "", url.Values{"hub.mode": {"subscribe"}, "hub.topic": {testTopic + "x"}, "hub.challenge": {"1"}}, 404, nil},
		"denied, other":  {"subscribe", "", url.Values{"hub.mode": {"denied"}, "hub.topic": {testTopic + "x"}}, 404, nil},
		"no challenge":   {"subscribe", "", url.Values{"hub.mode": {"subscribe"}, "hub.topic": {testTopic}}, 404, nil},
		"unknown path":   {"subscribe", testCallback + "x", url.Values{"hub.mode": {"subscribe"}, "hub.topic": {testTopic}, "hub.challenge": {"1"}}, 404, nil},
		"no path":        {"subscribe", testCallback, nil, 404, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := newTestSubscription(t)
			s.mode = test.mode
			if test.url == "" {
				test.url = s.Callback
			}
			w := httptest.NewRecorder()
			c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, test.url+"?"+test.query.Encode(), nil))
			var got *event
			select {
			case e := <-s.events:
				got = &e
			default:
			}
			if w.Code != test.status || (got == nil) != (test.want == nil) || got != nil && *got != *test.want {
				t.Errorf("status %d, event %+v", w.Code, got)
			}
			if w.Code == 200 && (w.Body.String() != test.query.Get("hub.challenge") || w.Header().Get("Content-Type") != "text/plain; charset=utf-8") {
				t.Errorf("answered %q %v", w.Body, w.Header())
			}
		})
	}
}

// TestUnknownSubscription has deliveries to unknown subscriptions, and other methods.
func TestUnknownSubscription(t *testing.T) {
	c, s := newTestSubscription(t)
	for _, test := range []struct {
		method, url string
		status      int
	}{
		{http.MethodPost, testCallback + "x", http.StatusGone},
		{http.MethodPost, testCallback, http.StatusGone},
		{http.MethodPut, s.Callback, http.StatusMethodNotAllowed},
	} {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest(test.method, test.url, strings.NewReader("x")))
		if w.Code != test.status {
			t.Errorf("%s %s: %d, want %d", test.method, test.url, w.Code, test.status)
		}
	}
	c.mux.Remove(path.Base(s.Callback), s)
	w := httptest.NewRecorder()
	if c.ServeHTTP(w, httptest.NewRequest(http.MethodPost, s.Callback, nil)); w.Code != http.StatusGone {
		t.Errorf("after the end: %d", w.Code)
	}
	for _, uri := range []string{"", "mirror.example.org", "ftp://example.org/", "https://example.org/?a=b"} {
		if _, err := NewCallback(uri); err == nil {
			t.Errorf("a Callback at %q", uri)
		}
	}
}
