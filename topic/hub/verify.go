package hub

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

const (
	// verifying is the maximum number of concurrent verifications, verifyingPerHost the
	// maximum at one host, and verifyingPerClient the maximum for one client. A quarter
	// of the places is for clients that have fewer than verifyingFew: clients that name
	// many hanging hosts must not delay others.
	verifying          = 64
	verifyingPerHost   = 4
	verifyingPerClient = verifying / 2
	verifyingFew       = 4
	verifyingByMany    = verifying * 3 / 4

	// requestsHeld is the maximum number of claimed requests. Beyond verifying, they wait, so
	// that a hanging host delays only its own. At the maximum, up to requestsSwapped requests
	// at a time are replaced with requests of clients that have fewer.
	requestsHeld    = 1024
	requestsSwapped = verifying

	// pollInterval is the interval at which the store is polled without being woken.
	pollInterval = time.Second

	// grace is the time that callbacks have to answer when Run ends.
	grace = 3 * time.Second
)

// A verifier verifies the intent of subscribers (WebSub 5.3).
type verifier struct {
	hub     *Hub
	owner   string
	waiting []heldRequest // oldest first
	running map[int64]heldRequest
	done    chan int64 // IDs of finished requests
}

type heldRequest struct {
	pushlog.Request
	claimed time.Time
}

func (h *Hub) verify(ctx context.Context) error {
	v := &verifier{
		hub:     h,
		owner:   rand.Text(),
		running: map[int64]heldRequest{},
		done:    make(chan int64, verifying),
	}
	wake := make(chan struct{}, 1)
	var watching sync.WaitGroup
	watching.Go(func() {
		background.Watch(ctx, h.store.Watch, func() { background.Signal(wake) },
			h.log, "hub: watching the store failed; polling it every second")
	})
	defer watching.Wait()

	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	for more := true; ; {
		if more {
			more = v.claim(ctx)
		}
		v.start(working)
		select {
		case id := <-v.done:
			delete(v.running, id)
			continue
		case <-wake:
			more = true
		case <-time.After(pollInterval):
			more = true
		case <-ctx.Done():
			// Unverified requests stay in the store.
			defer time.AfterFunc(grace, stop).Stop()
			for len(v.running) > 0 {
				delete(v.running, <-v.done)
			}
			return nil
		}
	}
}

// claim claims requests, and reports whether there may be more of them.
func (v *verifier) claim(ctx context.Context) bool {
	// Drop requests whose claim may end before they are verified. They will be claimed
	// again.
	v.waiting = slices.DeleteFunc(v.waiting, func(r heldRequest) bool { return time.Since(r.claimed) > pushlog.VerifyTime/3 })
	room := max(requestsHeld-len(v.waiting)-len(v.running), requestsSwapped)
	now := time.Now()
	claimed, err := v.hub.store.ClaimRequests(ctx, v.owner, room)
	if !v.hub.stored(ctx, "verifying subscribers", err) {
		return false
	}
	for _, r := range claimed {
		if _, found := v.running[r.ID]; !found {
			v.waiting = append(v.waiting, heldRequest{r, now})
		}
	}
	for len(v.waiting)+len(v.running) > requestsHeld {
		v.evict()
	}
	return len(claimed) == room
}

// evict drops the newest waiting request of the client with the most. It can be claimed
// again when its claim has ended.
func (v *verifier) evict() {
	waiting, last := map[string]int{}, -1
	for _, r := range v.waiting {
		waiting[r.Client]++
	}
	for i, r := range v.waiting {
		if last < 0 || waiting[r.Client] >= waiting[v.waiting[last].Client] {
			last = i
		}
	}
	v.waiting = slices.Delete(v.waiting, last, last+1)
}

// start starts the verifications that may run now.
func (v *verifier) start(ctx context.Context) {
	hosts, clients := map[string]int{}, map[string]int{}
	for _, r := range v.running {
		hosts[r.Host]++
		clients[r.Client]++
	}
	for {
		next := v.next(hosts, clients)
		if next < 0 {
			return
		}
		r := v.waiting[next]
		v.waiting = slices.Delete(v.waiting, next, next+1)
		hosts[r.Host]++
		clients[r.Client]++
		v.running[r.ID] = r
		go func() {
			v.hub.verifyRequest(ctx, v.owner, r.Request)
			v.done <- r.ID
		}()
	}
}

// next returns the index of the next request to verify, or -1 if none is allowed: the oldest
// request of the client with the fewest running.
func (v *verifier) next(hosts, clients map[string]int) int {
	next, fewest := -1, verifyingPerClient
	switch {
	case len(v.running) >= verifying:
		fewest = 0
	case len(v.running) >= verifyingByMany:
		fewest = verifyingFew
	}
	for i, r := range v.waiting {
		if n := clients[r.Client]; n < fewest && hosts[r.Host] < verifyingPerHost {
			next, fewest = i, n
		}
	}
	return next
}

// verifyRequest verifies r with one request to the callback, and applies r if the subscriber
// confirms. Otherwise nothing changes. It repeats the request only if the process ends before
// the response.
func (h *Hub) verifyRequest(ctx context.Context, owner string, r pushlog.Request) {
	log := h.log.With("callback", sparse.RedactURI(r.Callback), "topic", r.Topic)
	if h.denyUnserved(ctx, owner, r) {
		return
	}
	asked := time.Now()
	if err := h.confirm(ctx, r); err != nil {
		if ctx.Err() != nil {
			return
		}
		h.sparse.Log(ctx, log, slog.LevelInfo, "hub: a subscriber has not confirmed, and nothing has changed; it must answer 2xx with exactly the challenge as the body",
			slog.Bool("unsubscribe", r.End), slog.Any("reason", reason(err)))
		h.requestTotals.Count(func(n *Requests) { n.Unverified++ })
		h.dropRequest(ctx, owner, r)
		return
	}
	if h.denyUnserved(ctx, owner, r) { // the topic was withdrawn meanwhile
		return
	}
	switch err := h.store.Apply(ctx, owner, r, asked.Add(r.Lease)); {
	case errors.Is(err, pushlog.ErrStale):
	case err != nil:
		h.sparse.Log(ctx, log, slog.LevelError, "hub: a confirmation could not be stored; the request will be verified again", slog.Any("error", err))
	default:
		h.requestTotals.Count(func(n *Requests) { n.Verified++ })
		log.Debug("hub: a subscriber has confirmed", "unsubscribe", r.End)
	}
}

// denyUnserved denies a request to subscribe to an unknown topic, and reports whether r was
// one.
func (h *Hub) denyUnserved(ctx context.Context, owner string, r pushlog.Request) bool {
	if r.End || h.serves(r.Topic) {
		return false
	}
	h.deny(ctx, r.Topic, r.Callback, notServed)
	h.dropRequest(ctx, owner, r)
	return true
}

func (h *Hub) dropRequest(ctx context.Context, owner string, r pushlog.Request) {
	if err := h.store.Drop(ctx, owner, r); err != nil && !errors.Is(err, pushlog.ErrStale) {
		h.sparse.Log(ctx, h.log, slog.LevelWarn, "hub: a request could not be removed and will be repeated", slog.String("callback", sparse.RedactURI(r.Callback)), slog.Any("error", err))
	}
}

// confirm returns nil if the subscriber answers 2xx with the challenge, and otherwise an
// error that describes the response.
func (h *Hub) confirm(ctx context.Context, r pushlog.Request) error {
	ctx, cancel := context.WithTimeout(ctx, h.options.Timeout)
	defer cancel()
	challenge := rand.Text() // at least 128 bits
	mode, lease := "subscribe", "&hub.lease_seconds="+strconv.FormatInt(int64(r.Lease/time.Second), 10)
	if r.End {
		mode, lease = "unsubscribe", ""
	}
	answer, err := h.ask(ctx, r.Callback, "hub.mode="+mode+"&hub.topic="+url.QueryEscape(r.Topic)+"&hub.challenge="+challenge+lease)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode >= 300 && answer.StatusCode <= 399:
		return fmt.Errorf("status %d, and redirects are not followed", answer.StatusCode)
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return fmt.Errorf("status %d", answer.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, int64(len(challenge))+1))
	if err != nil {
		return err
	}
	if string(body) != challenge {
		return errors.New("the answer is not the challenge")
	}
	return nil
}

// ask sends a GET request to callback. It appends params to the query and does not change
// the rest of it (WebSub 5.1.1).
func (h *Hub) ask(ctx context.Context, callback, params string) (*http.Response, error) {
	joint := "?"
	if strings.Contains(callback, "?") {
		joint = "&"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, callback+joint+params, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "resourcesync-hub")
	return h.transport.RoundTrip(request)
}
