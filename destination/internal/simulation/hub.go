package simulation

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"hash"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// callbackURL is the URL of the followers' callback.
const callbackURL = "http://mirror.example/callback/"

// A hub is a model of a WebSub hub, with the notifications of a foreign Source.
type hub struct {
	*World
	working sync.WaitGroup

	// The World's lock guards these.
	callback    http.Handler           // of the running follower, or nil
	calls       int                    // authentic calls of callback
	leaving     bool                   // the follower is ending, and unsubscribes
	subscribers map[string]*subscriber // by callback
}

type subscriber struct {
	callback, topic, secret string
	until                   time.Time
}

// ServeHTTP answers a request to subscribe or to unsubscribe, which is verified later.
func (h *hub) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.ParseForm() != nil {
		http.Error(rw, "This is a hub.", http.StatusBadRequest)
		return
	}
	form := r.PostForm
	h.working.Go(func() { h.verify(form) })
	rw.WriteHeader(http.StatusAccepted)
}

// leases are the leases that the hub grants.
var leases = []time.Duration{5 * time.Minute, time.Hour, 240 * time.Hour}

// verify verifies the intent of a subscriber (WebSub, section 5.3).
func (h *hub) verify(form url.Values) {
	s := &subscriber{callback: form.Get("hub.callback"), topic: form.Get("hub.topic"), secret: form.Get("hub.secret")}
	mode, what := form.Get("hub.mode"), "VERIFY "+strings.TrimPrefix(s.topic, Site)
	nth := h.count(what)
	dice := h.roll(what, nth)
	time.Sleep(time.Duration(1 + dice.IntN(300_000_000)))
	if f := h.noticeFault(what, nth); f.kind == "lost" {
		h.fire(plannedFault{what, nth, f})
		return
	}
	h.mu.Lock()
	h.calls++
	h.mu.Unlock()
	lease := leases[dice.IntN(len(leases))]
	challenge := fmt.Sprint("challenge-", nth)
	res := h.call(http.MethodGet, s.callback, url.Values{
		"hub.mode": {mode}, "hub.topic": {s.topic}, "hub.challenge": {challenge}, "hub.lease_seconds": {fmt.Sprint(int(lease.Seconds()))},
	}, "", "")
	h.event("hub: %s of %s is verified: %v", mode, s.topic, res != nil && res.Body.String() == challenge)
	if res == nil || res.Code != http.StatusOK || res.Body.String() != challenge {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if mode == "unsubscribe" {
		delete(h.subscribers, s.callback)
	} else {
		s.until = time.Now().Add(lease)
		h.subscribers[s.callback] = s
	}
}

// call sends a request to the callback. It returns nil if no follower runs.
func (h *hub) call(method, uri string, query url.Values, body, signature string) *httptest.ResponseRecorder {
	h.mu.Lock()
	callback := h.callback
	h.mu.Unlock()
	if callback == nil {
		return nil
	}
	if query != nil {
		uri += "?" + query.Encode()
	}
	r := httptest.NewRequest(method, uri, strings.NewReader(body))
	if signature != "" {
		r.Header.Set("X-Hub-Signature", signature)
	}
	rec := httptest.NewRecorder()
	callback.ServeHTTP(rec, r)
	return rec
}

// subscribed returns the subscribers of a topic.
func (h *hub) subscribed(topic string) (all []*subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.subscribers {
		if s.topic == topic && time.Now().Before(s.until) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *subscriber) int { return cmp.Compare(a.callback, b.callback) })
	return all
}

// send delivers a notification to the subscribers of a topic, unless a fault hits it: then it is
// "lost", "late" by n seconds, "repeated" after n seconds, or accompanied by a "forged" one of the
// nth kind.
func (h *hub) send(topic, body string) {
	what := "NOTIFY " + strings.TrimPrefix(topic, Site)
	nth := h.count(what)
	delay := time.Duration(1 + h.roll("latency "+what, nth).IntN(300_000_000))
	f := h.noticeFault(what, nth)
	if f.kind != "" {
		h.fire(plannedFault{what, nth, f})
	}
	later := time.Duration(f.n) * time.Second
	switch f.kind {
	case "lost":
		return
	case "late":
		delay += later
	case "repeated":
		h.working.Go(func() {
			time.Sleep(delay + later)
			h.deliver(topic, body)
		})
	case "forged":
		h.working.Go(func() {
			time.Sleep(delay)
			h.forge(topic, body, f.n)
		})
	}
	h.working.Go(func() {
		time.Sleep(delay)
		h.deliver(topic, body)
	})
}

// noticeFault returns the fault of a notification, or of a verification.
func (h *hub) noticeFault(what string, nth int) fault {
	if h.calm() {
		return fault{}
	}
	for _, f := range h.planned {
		if f.what == what && f.nth == nth {
			return f.fault
		}
	}
	if !h.happens(h.Notices, "notice", what, nth) {
		return fault{}
	}
	dice := h.roll("notice fault "+what, nth)
	switch dice.IntN(4) {
	case 0:
		return fault{"lost", 0}
	case 1:
		return fault{"late", []int{1, 10, 100}[dice.IntN(3)]}
	case 2:
		return fault{"repeated", []int{0, 1, 100, 1000}[dice.IntN(4)]}
	}
	return fault{"forged", dice.IntN(forgeries)}
}

func (h *hub) deliver(topic, body string) {
	for _, s := range h.subscribed(topic) {
		h.mu.Lock()
		h.calls++
		h.mu.Unlock()
		h.post(s.callback, body, sign("sha256", sha256.New, s.secret, body))
	}
}

// post delivers a notification, real or forged.
func (h *hub) post(callback, body, signature string) {
	if res := h.call(http.MethodPost, callback, nil, body, signature); res != nil && res.Code != http.StatusAccepted && res.Code != http.StatusGone {
		h.fail("callback", "the callback answers a delivery with %d", res.Code)
	}
}

func sign(method string, algorithm func() hash.Hash, secret, body string) string {
	mac := hmac.New(algorithm, []byte(secret))
	mac.Write([]byte(body))
	return fmt.Sprintf("%s=%x", method, mac.Sum(nil))
}

// forgeries is the number of kinds of forged requests to a callback.
const forgeries = 8

// forge sends the subscribers of a topic requests that anyone without their secret could send:
// beside the real notification, one that deletes all resources and creates another.
func (h *hub) forge(topic, body string, kind int) {
	h.mu.Lock()
	forged := h.present((&foreign{h.World}).forgery())
	var other string // the secret for another topic
	for _, s := range h.subscribers {
		if s.topic != topic {
			other = max(other, s.secret)
		}
	}
	h.mu.Unlock()
	for _, s := range h.subscribed(topic) {
		switch kind {
		case 0:
			h.post(s.callback, forged, "")
		case 1:
			h.post(s.callback, forged, sign("sha256", sha256.New, "guessed", forged))
		case 2:
			h.post(s.callback, forged, sign("sha1", sha1.New, s.secret, forged))
		case 3:
			h.post(s.callback, forged, sign("sha256", sha256.New, s.secret, body))
		case 4:
			h.post(s.callback, forged, sign("sha256", sha256.New, other, forged))
		case 5:
			h.post(callbackURL+"guessed", forged, sign("sha256", sha256.New, s.secret, forged))
		case 6:
			h.verifyUnasked(s.callback, url.Values{"hub.mode": {"unsubscribe"}, "hub.topic": {topic}, "hub.challenge": {"x"}})
		case 7:
			h.verifyUnasked(s.callback, url.Values{"hub.mode": {"denied"}, "hub.topic": {topic + "x"}})
		}
	}
}

// verifyUnasked sends an unsolicited verification. A follower that unsubscribes cannot distinguish it
// from the hub's.
func (h *hub) verifyUnasked(callback string, query url.Values) {
	h.mu.Lock()
	leaving := h.leaving
	h.mu.Unlock()
	if leaving {
		return
	}
	if res := h.call(http.MethodGet, callback, query, "", ""); res != nil && res.Code == http.StatusOK {
		h.fail("callback", "the follower confirms an unsolicited verification: %v", query)
	}
}
