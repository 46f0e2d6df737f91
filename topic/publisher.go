package topic

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/health"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A Publisher makes the notifications of channels and sends them to hubs. It
// serves their topics, too. All methods are safe for concurrent use.
//
// Every process of a Source has a Publisher, and one of those that run on the same
// log at a time does the work. When it ends, another one goes on where it was:
// the intervals of Change Notifications meet, and a hub is sent every
// notification at least once, in order.
type Publisher struct {
	store    pushlog.Log
	channels []Channel
	topics   map[string]*Channel
	used     map[string][]string // URIs of hubs, by topic
	options  Options
	log      *slog.Logger
	sparse   sparse.Log // of what clients can cause
	made     time.Time  // changes after it are announced
	failures health.Failures
	counters counters
	running  atomic.Bool

	mu      sync.Mutex
	senders map[string][]*sender // by topic, while this process leads

	idle idle
}

// NewPublisher returns a Publisher of channels. Without any, it only announces removed
// sets. opts may be nil.
// It fails if anything given to it cannot work.
func NewPublisher(log Log, channels []Channel, opts *Options) (*Publisher, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if log == nil {
		return nil, errors.New("topic: a Publisher needs a Log: NewMemoryLog returns the simplest")
	}
	p := &Publisher{
		store:    log,
		channels: slices.Clone(channels),
		topics:   make(map[string]*Channel, len(channels)),
		used:     make(map[string][]string, len(channels)),
		options:  o,
		log:      o.Logger,
		made:     time.Now().UTC().Truncate(time.Microsecond).Add(-time.Microsecond),
	}
	p.runs() // assume that it starts soon
	for i := range p.channels {
		c := &p.channels[i]
		c.Hubs = slices.Clone(c.Hubs)
		if err := c.check(); err != nil {
			return nil, err
		}
		if p.topics[c.Topic] != nil {
			return nil, fmt.Errorf("topic: two channels have the topic %q: every channel has one of its own (Change Notification 2)", c.Topic)
		}
		p.topics[c.Topic] = c
	}
	for i := range p.channels {
		c := &p.channels[i]
		p.used[c.Topic] = nil
		for _, h := range c.Hubs {
			p.used[c.Topic] = append(p.used[c.Topic], h.URI)
		}
	}
	return p, nil
}

// check returns what is wrong with c.
func (c *Channel) check() error {
	if err := rsxml.CheckURI(c.Topic); err != nil {
		return fmt.Errorf("topic: Topic: %w", err)
	}
	if err := rsxml.CheckURI(c.CapabilityList); err != nil {
		return fmt.Errorf("topic: CapabilityList of %q: %w", c.Topic, err)
	}
	if (c.Changer == nil) == (c.Documents == nil) {
		return fmt.Errorf("topic: channel %q: give it either a Changer or Documents", c.Topic)
	}
	for i, h := range c.Hubs {
		if err := rsxml.CheckURI(h.URI); err != nil {
			return fmt.Errorf("topic: a hub of %q: %w", c.Topic, err)
		}
		if scheme, _, _ := strings.Cut(strings.ToLower(h.URI), ":"); scheme != "http" && scheme != "https" {
			return fmt.Errorf("topic: hub %q of %q must be an http or https URI", sparse.RedactURI(h.URI), c.Topic)
		}
		if h.URI == c.OwnHub || slices.ContainsFunc(c.Hubs[:i], func(other Hub) bool { return other.URI == h.URI }) {
			return fmt.Errorf("topic: channel %q has the hub %q twice", c.Topic, sparse.RedactURI(h.URI))
		}
	}
	return nil
}

// Run makes and sends notifications until ctx ends, and then returns nil. What
// fails is reported to the logger and by [Publisher.Status], and tried again. Run
// must not be called twice at the same time.
func (p *Publisher) Run(ctx context.Context) error {
	if !p.running.CompareAndSwap(false, true) {
		return errors.New("topic: Run is running already")
	}
	defer p.running.Store(false)
	p.runs()
	defer p.runs()
	defer p.options.Client.CloseIdleConnections()
	a := &poller{}
	persist(ctx, a, func() (time.Duration, error) {
		_, err := p.store.Lead(ctx, p.lead)
		return pollInterval, err
	}, p.failed("leading"), p.ok("leading"))
	return nil
}

// lead does the work while this process is the one to do it.
func (p *Publisher) lead(ctx context.Context) error {
	p.ok("leading")()
	// What has failed here is the work of whoever leads next, who sees for
	// himself whether it still fails.
	defer p.failures.Forget()
	senders := make(map[string][]*sender)
	for i := range p.channels {
		c := &p.channels[i]
		for j := range c.Hubs {
			// The queue must be there before the next notification: it
			// begins after the newest.
			if _, err := p.store.HubCursor(ctx, c.Topic, c.Hubs[j].URI); err != nil {
				return err
			}
			senders[c.Topic] = append(senders[c.Topic], newSender(p, c.Topic, &c.Hubs[j]))
		}
	}
	p.setSenders(senders)
	defer p.setSenders(nil)
	last, err := p.removed(ctx)
	if err != nil {
		return err
	}

	var wg sync.WaitGroup
	for _, s := range last {
		p.start(ctx, &wg, s)
	}
	for i := range p.channels {
		c := &p.channels[i]
		var (
			a    *poller
			work func(context.Context) (time.Duration, error)
		)
		if c.Changer != nil {
			w := newChanges(p, c)
			a, work = w.poller, w.work
		} else {
			w := newFramework(p, c)
			a, work = w.poller, w.work
		}
		if a.watcher != nil {
			wg.Go(func() { a.watch(ctx, p.log.With("topic", sparse.RedactURI(c.Topic))) })
		}
		name := "notifications of " + sparse.RedactURI(c.Topic)
		wg.Go(func() { p.persist(ctx, name, a, p.watched(name, a, work)) })
		for _, s := range senders[c.Topic] {
			p.start(ctx, &wg, s)
		}
	}
	wg.Go(func() { p.persist(ctx, "clearing the log", &poller{}, p.clear) })
	wg.Wait()
	return nil
}

// start runs s until ctx ends.
func (p *Publisher) start(ctx context.Context, wg *sync.WaitGroup, s *sender) {
	wg.Go(func() {
		p.persist(ctx, "sending "+sparse.RedactURI(s.topic)+" to "+sparse.RedactURI(s.hub.URI), s.poller, s.work)
	})
}

func (p *Publisher) persist(ctx context.Context, name string, a *poller, work func(context.Context) (time.Duration, error)) {
	persist(ctx, a, func() (time.Duration, error) { return work(ctx) }, p.failed(name), p.ok(name))
}

// grace is for how long notifications wait for a hub of a topic that is not
// configured any more. Processes whose configurations differ may lead in turns, as
// they do while one replaces the other, and a hub may be taken out by mistake.
const grace = 24 * time.Hour

// stuckAfter is how long looking for changes may take without a notification until it
// counts as a failure: who provides them, or the log, may never come back.
const stuckAfter = 5 * time.Minute

var errStuck = fmt.Errorf("it has not come to an end for %v", stuckAfter)

// watched is work that is reported while it takes too long. It goes on all the same.
func (p *Publisher) watched(name string, a *poller, work func(context.Context) (time.Duration, error)) func(context.Context) (time.Duration, error) {
	return func(ctx context.Context) (time.Duration, error) {
		var mu sync.Mutex
		ended := false // and what is said of it then is the last word
		a.stuck = time.AfterFunc(stuckAfter, func() {
			mu.Lock()
			defer mu.Unlock()
			if !ended {
				p.failed(name)(errStuck)
			}
		})
		defer func() {
			a.stuck.Stop()
			mu.Lock()
			defer mu.Unlock()
			ended = true
		}()
		return work(ctx)
	}
}

// clear drops what is not needed any more, and returns when to do it again.
func (p *Publisher) clear(ctx context.Context) (time.Duration, error) {
	now := time.Now()
	var before time.Time
	if p.options.Retain > 0 {
		before = now.Add(-p.options.Retain)
	}
	dropped, err := p.store.Clear(ctx, p.used, before, now.Add(-grace))
	for _, d := range dropped {
		p.counters.lost.Add(uint64(d.Deliveries))
		p.log.LogAttrs(ctx, slog.LevelWarn,
			"topic: notifications were too old to be kept for subscribers that had not taken them; they can find the changes in the Change List",
			slog.String("topic", sparse.RedactURI(d.Topic)), slog.Int("notifications", d.Messages), slog.Int("subscriptions", d.Subscriptions))
	}
	return sweep, err
}

func (p *Publisher) setSenders(senders map[string][]*sender) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.senders = senders
}

// wake tells the senders of a topic that there is something to send.
func (p *Publisher) wake(topic string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.senders[topic] {
		background.Signal(s.poller.woken)
	}
}
