package destination

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/retry"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/internal/tree"
)

const (
	// wantedLease is the lease that is requested from hubs, and verifyTime the time in
	// which they should verify a subscription.
	wantedLease = 10 * 24 * time.Hour
	verifyTime  = time.Minute

	// leaveTime is the time in which subscriptions are cancelled at the end.
	leaveTime = 5 * time.Second

	// settleTime is the time between the verification of a subscription and the reading of
	// the changes that may have happened before it took effect.
	settleTime = time.Second
)

// A channel is a channel that is followed.
type channel struct {
	key channelKey
	tree.Channel
	inbox *inbox
	log   *slog.Logger
	watch *watch
}

// A subscription receives the notifications of a channel from a hub.
type subscription struct {
	channel
	state.Subscription
	reader     *tree.Reader
	events     chan event    // the newest one
	deliveries chan struct{} // of the Callback
	sparse     sparse.Log

	mu    sync.Mutex
	mode  string // that the hub may verify
	topic string // that it may verify
	hub   string // that knows the subscription
}

// An event is a response of a hub.
type event struct {
	lease  time.Duration
	denied bool
	reason string
}

// newSubscription returns the record of a subscription to topic whose callback is below
// base.
func newSubscription(topic, base string) state.Subscription {
	return state.Subscription{Topic: topic, Callback: base + rand.Text(), Secret: rand.Text()}
}

func (s *subscription) wants() (mode, topic string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode, s.topic
}

// tell replaces the event that run has not yet received.
func (s *subscription) tell(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.events:
	default:
	}
	s.events <- e
}

func (s *subscription) ignored(reason error) {
	s.sparse.Log(context.Background(), s.log, slog.LevelWarn, "a delivery is ignored", slog.String("topic", s.Topic), slog.Any("reason", reason))
}

// run subscribes, and renews the subscription before its lease ends, until ctx ends.
func (s *subscription) run(ctx context.Context) {
	wait := retry.Policy{First: 5 * time.Second, Max: time.Hour}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			failures++
			pause := max(verifyTime, wait.Wait(failures, 0))
			if err := s.subscribe(ctx, failures-1); err != nil && ctx.Err() == nil {
				s.log.Warn("subscribing failed", "topic", s.Topic, "error", err)
				pause = wait.Wait(failures, 0)
				s.failed(err.Error(), time.Now().Add(pause))
			} else if failures > 1 && ctx.Err() == nil {
				s.failed("the hub has not verified the subscription", time.Now().Add(pause))
			}
			timer.Reset(pause)
		case e := <-s.events:
			if e.denied {
				failures++
				s.log.Warn("the hub denies the subscription", "topic", s.Topic, "reason", sparse.Clip(e.reason))
				pause := wait.Wait(failures, 0)
				s.failed("the hub denies the subscription: "+e.reason, time.Now().Add(pause))
				timer.Reset(pause)
				continue
			}
			failures = 0
			s.log.Debug("the hub has verified the subscription", "topic", s.Topic, "lease", e.lease)
			time.AfterFunc(settleTime, func() { s.inbox.miss(s.key, false) })
			renewal := max(e.lease*4/5, time.Second)
			s.opened(time.Now().Add(e.lease), time.Now().Add(renewal))
			timer.Reset(renewal)
		}
	}
}

// subscribe asks a hub of the topic, a different one at each attempt, for the subscription.
func (s *subscription) subscribe(ctx context.Context, attempt int) error {
	ctx, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	hubs, topic, err := s.reader.Hubs(ctx, s.Channel)
	if len(hubs) == 0 {
		if err == nil {
			err = fmt.Errorf("%s has no link to a hub", s.Channel.Topic)
		}
		return err
	}
	s.mu.Lock()
	s.mode, s.topic, s.hub = "subscribe", topic, hubs[attempt%len(hubs)]
	s.mu.Unlock()
	return s.request(ctx)
}

// request sends a request to the hub (WebSub, section 5.1). Some hubs refuse a lease that is
// longer than their maximum. They get another request, without a lease.
func (s *subscription) request(ctx context.Context) error {
	s.mu.Lock()
	hub, form := s.hub, url.Values{"hub.mode": {s.mode}, "hub.topic": {s.topic}, "hub.callback": {s.Callback}}
	s.mu.Unlock()
	if form.Get("hub.mode") != "subscribe" {
		return s.reader.Client.Post(ctx, hub, form)
	}
	form.Set("hub.secret", s.Secret)
	form.Set("hub.lease_seconds", strconv.Itoa(int(wantedLease/time.Second)))
	err := s.reader.Client.Post(ctx, hub, form)
	if fetch.IsStatus(err, http.StatusBadRequest) {
		form.Del("hub.lease_seconds")
		err = s.reader.Client.Post(ctx, hub, form)
	}
	return err
}

// cancel cancels the subscription when run has ended, and reports whether the hub has verified
// that.
func (s *subscription) cancel(ctx context.Context) bool {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer end()
	s.mu.Lock()
	s.mode = "unsubscribe"
	known := s.hub != ""
	select {
	case <-s.events:
	default:
	}
	s.mu.Unlock()
	if !known {
		return true
	}
	if err := s.request(ctx); err != nil {
		s.log.Warn("the hub does not accept the end of the subscription", "topic", s.Topic, "error", err)
		return false
	}
	select {
	case e := <-s.events:
		return !e.denied
	case <-ctx.Done():
		return false
	}
}
