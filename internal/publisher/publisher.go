// Package publisher creates the notifications of channels, appends them to a log, and sends
// them to remote hubs, durably and in order (ResourceSync Change Notification 1.0.1 and
// Framework Notification 1.0.1). Of the processes that share a log, one does this work at a
// time. Package topic has the configuration and the status that applications see.
package publisher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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
	"github.com/resourcesync-go/resourcesync/topic"
)

// A Publisher publishes the notifications of channels, sends them to hubs, and serves their
// topics. All methods are safe for concurrent use.
//
// Each process of a Source has a Publisher. One of those that run on the same log is the
// leader and does the work. When it ends, another one continues: each interval of a Change
// Notification begins where the previous one ends, and each hub receives every notification
// at least once, in order.
type Publisher struct {
	store    pushlog.Log
	channels []Channel
	topics   map[string]*Channel
	used     map[string][]string // URIs of remote hubs, by topic
	options  topic.Options
	removed  func(capabilityList string) []*Update
	log      *slog.Logger
	sparse   sparse.Log // for lines that clients can cause
	made     time.Time  // changes after this time are published
	failures health.Failures
	totals   health.Totals[topic.Counters]
	running  atomic.Bool

	ended ended

	mu      sync.Mutex
	senders map[string][]*sender // by topic, while this process leads
}

// New returns a Publisher of channels. Without channels, it only announces removed sets. It
// fails if a channel or an option is invalid. opts may be nil.
//
// removed returns the last Framework Notifications of a removed set, whose topics are in the
// log but which no longer has a channel, given the URI of its Capability List; nil means
// none. They are sent to the hubs of the topic. The log has only the URIs of hubs: a hub that no
// channel uses receives it by POST, and misses it if it needs a Token or a Ping. If
// removed is nil, no such notifications are sent.
func New(log pushlog.Log, channels []Channel, removed func(capabilityList string) []*Update, opts *topic.Options) (*Publisher, error) {
	o, err := withDefaults(opts)
	if err != nil {
		return nil, err
	}
	if log == nil {
		return nil, errors.New("topic: a Publisher needs a log")
	}
	p := &Publisher{
		store:    log,
		channels: slices.Clone(channels),
		topics:   make(map[string]*Channel, len(channels)),
		used:     make(map[string][]string, len(channels)),
		options:  o,
		log:      o.Logger,
		removed:  removed,
		made:     time.Now().UTC().Truncate(time.Microsecond).Add(-time.Microsecond),
	}
	for i := range p.channels {
		c := &p.channels[i]
		c.Hubs = slices.Clone(c.Hubs)
		if err := c.check(); err != nil {
			return nil, err
		}
		if p.topics[c.Topic] != nil {
			return nil, fmt.Errorf("topic: two channels have the topic %q: each channel needs its own (Change Notification 2)", c.Topic)
		}
		p.topics[c.Topic] = c
		p.used[c.Topic] = nil
		for _, h := range c.Hubs {
			p.used[c.Topic] = append(p.used[c.Topic], h.URI)
		}
	}
	return p, nil
}

func (c *Channel) check() error {
	if err := rsxml.CheckURI(c.Topic); err != nil {
		return fmt.Errorf("topic: Topic: %w", err)
	}
	if err := rsxml.CheckURI(c.CapabilityList); err != nil {
		return fmt.Errorf("topic: CapabilityList of %q: %w", c.Topic, err)
	}
	if (c.Changer == nil) == (c.Documents == nil) {
		return fmt.Errorf("topic: channel %q must have either a Changer or Documents", c.Topic)
	}
	for i, h := range c.Hubs {
		if err := rsxml.CheckURI(h.URI); err != nil {
			return fmt.Errorf("topic: a hub of %q: %w", c.Topic, err)
		}
		if scheme, _, _ := strings.Cut(strings.ToLower(h.URI), ":"); scheme != "http" && scheme != "https" {
			return fmt.Errorf("topic: hub %q of %q must be an http or https URI", sparse.RedactURI(h.URI), c.Topic)
		}
		if h.URI == c.OwnHub || slices.ContainsFunc(c.Hubs[:i], func(other topic.RemoteHub) bool { return other.URI == h.URI }) {
			return fmt.Errorf("topic: channel %q has the hub %q twice", c.Topic, sparse.RedactURI(h.URI))
		}
	}
	return nil
}

// Run publishes and sends notifications until ctx ends, and then returns nil. It retries
// failed work, and reports failures to the logger and in [Publisher.Status]. It fails if it
// is already running.
func (p *Publisher) Run(ctx context.Context) error {
	if !p.running.CompareAndSwap(false, true) {
		return errors.New("topic: Run is already running")
	}
	defer p.running.Store(false)
	defer p.options.Client.CloseIdleConnections()
	p.persist(ctx, leading, &poller{}, func(ctx context.Context) (time.Duration, error) {
		_, err := p.store.Lead(ctx, p.lead)
		return pollInterval, err
	})
	return nil
}

const leading = "leading" // the name of the work

// lead does the work while this process is the leader.
func (p *Publisher) lead(ctx context.Context) error {
	p.report(leading, nil)
	// The next leader records its own failures.
	defer p.failures.Forget()
	senders := make(map[string][]*sender)
	for i := range p.channels {
		c := &p.channels[i]
		for j := range c.Hubs {
			// Create the cursor before the next notification: a new cursor
			// begins after the newest.
			if _, err := p.store.HubCursor(ctx, c.Topic, c.Hubs[j].URI); err != nil {
				return err
			}
			senders[c.Topic] = append(senders[c.Topic], newSender(p, c.Topic, &c.Hubs[j]))
		}
	}
	p.setSenders(senders)
	defer p.setSenders(nil)
	last, err := p.endRemoved(ctx)
	if err != nil {
		return err
	}

	var wg sync.WaitGroup
	for _, s := range last {
		p.start(ctx, &wg, s)
	}
	for i := range p.channels {
		c := &p.channels[i]
		f := newFeed(p, c)
		work := (&framework{feed: f}).work
		if c.Changer != nil {
			work = newChanges(f).work
		}
		if c.Watcher != nil {
			wg.Go(func() {
				background.Watch(ctx, c.Watcher.Watch, func() { background.Signal(f.poller.woken) },
					f.log, "watching a set has ended; restarting")
			})
		}
		name := "notifications of " + sparse.RedactURI(c.Topic)
		wg.Go(func() { p.persist(ctx, name, f.poller, p.watched(name, f.poller, work)) })
		for _, s := range senders[c.Topic] {
			p.start(ctx, &wg, s)
		}
	}
	wg.Go(func() { p.persist(ctx, "clearing the log", &poller{}, p.clear) })
	wg.Wait()
	return nil
}

func (p *Publisher) start(ctx context.Context, wg *sync.WaitGroup, s *sender) {
	wg.Go(func() {
		p.persist(ctx, "sending "+sparse.RedactURI(s.topic)+" to "+sparse.RedactURI(s.hub.URI), s.poller, s.work)
	})
}

// grace is the time for which notifications are kept for a hub that is no longer
// configured. Processes with different configurations may lead in turn during a deployment,
// and a hub may be removed by mistake.
const grace = 24 * time.Hour

// stuckAfter is the time after which reading changes without a notification counts as a
// failure: a call of the provider or the log may never return.
const stuckAfter = 5 * time.Minute

var errStuck = fmt.Errorf("it has not ended for %v", stuckAfter)

// watched returns work that is reported as failing while it takes longer than stuckAfter.
// It is not interrupted.
func (p *Publisher) watched(name string, a *poller, work func(context.Context) (time.Duration, error)) func(context.Context) (time.Duration, error) {
	return func(ctx context.Context) (time.Duration, error) {
		var mu sync.Mutex
		ended := false // prevents a report after the end
		a.stuck = time.AfterFunc(stuckAfter, func() {
			mu.Lock()
			defer mu.Unlock()
			if !ended {
				p.report(name, errStuck)
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

// clear removes notifications and topics that are no longer needed, and returns the time to
// wait before the next call.
func (p *Publisher) clear(ctx context.Context) (time.Duration, error) {
	now := time.Now()
	var before time.Time
	if p.options.Retain > 0 {
		before = now.Add(-p.options.Retain)
	}
	dropped, err := p.store.Clear(ctx, p.used, before, now.Add(-grace))
	for _, d := range dropped {
		p.totals.Count(func(c *topic.Counters) { c.Lost += uint64(d.Deliveries) })
		p.log.LogAttrs(ctx, slog.LevelWarn,
			"topic: retention has dropped notifications that subscribers had not accepted; the Change List has the changes",
			slog.String("topic", sparse.RedactURI(d.Topic)), slog.Int("notifications", d.Messages), slog.Int("subscriptions", d.Subscriptions))
	}
	return sweep, err
}

func (p *Publisher) setSenders(senders map[string][]*sender) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.senders = senders
}

func (p *Publisher) wake(topic string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.senders[topic] {
		background.Signal(s.poller.woken)
	}
}

// withDefaults returns o with defaults, or an error if o is invalid. o may be nil.
func withDefaults(o *topic.Options) (topic.Options, error) {
	var out topic.Options
	if o != nil {
		out = *o
	}
	if out.FlushChanges < 0 || out.FlushChanges > rsxml.MaxEntries {
		return out, fmt.Errorf("topic: FlushChanges %d: must be 1 to %d, or 0 for the default", out.FlushChanges, rsxml.MaxEntries)
	}
	if out.Flush < 0 || out.Framework < 0 || out.Timeout < 0 || out.Retry < 0 {
		return out, errors.New("topic: Flush, Framework, Timeout and Retry must not be negative")
	}
	out.Flush = cmp.Or(out.Flush, time.Second)
	out.FlushChanges = cmp.Or(out.FlushChanges, 1000)
	out.Framework = cmp.Or(out.Framework, time.Minute)
	out.Retain = cmp.Or(out.Retain, 14*24*time.Hour)
	out.Timeout = cmp.Or(out.Timeout, 10*time.Second)
	out.Retry = cmp.Or(out.Retry, 2*time.Second)
	if out.Client == nil {
		out.Client = &http.Client{Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: 16,
			IdleConnTimeout:     90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second,
		}}
	}
	client := *out.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	out.Client = &client
	out.Logger = cmp.Or(out.Logger, slog.Default())
	return out, nil
}
