package publisher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// maxUpdates is the maximum number of Framework Notifications that follow each other at
// once.
const maxUpdates = 16

// framework publishes the notifications of a framework channel: when, and in what order.
// What they announce is in rshttp/framework.go. It is not safe for concurrent use.
type framework struct {
	*Channel
	p      *Publisher
	log    *slog.Logger
	poller *poller

	state     pushlog.State
	known     bool      // state is the current state of the topic
	published time.Time // when this process last appended a notification; zero if never
}

func newFramework(p *Publisher, c *Channel) *framework {
	return &framework{Channel: c, p: p, log: p.log.With("topic", sparse.RedactURI(c.Topic)), poller: newPoller(c)}
}

// work publishes updates, and returns the time to wait before the next call.
func (f *framework) work(ctx context.Context) (time.Duration, error) {
	if rest := f.p.options.Framework - time.Since(f.published); rest > 0 {
		return rest, nil
	}
	err := f.poller.poll(ctx)
	if err == nil && f.poller.due {
		err = f.collect(ctx)
	}
	switch {
	case errors.Is(err, pushlog.ErrMoved):
		f.known = false
		return pause, nil
	case errors.Is(err, resourcesync.ErrNotReady):
		return pollInterval, nil
	case err != nil:
		f.known = false
		return 0, err
	}
	return f.poller.period(), nil
}

func (f *framework) collect(ctx context.Context) error {
	if !f.known {
		state, err := f.p.store.State(ctx, f.Topic)
		if err != nil {
			return err
		}
		f.state, f.known = state, true
		f.p.wake(f.Topic) // another process may have appended notifications
	}
	for range maxUpdates {
		began := time.Now()
		u, cursor, err := f.Documents.Next(ctx, f.state.Documents)
		if err != nil {
			return err
		}
		if f.state.Equal(pushlog.State{}) {
			if err := f.begin(ctx, u, cursor); err != nil {
				return err
			}
		}
		if u == nil {
			f.poller.due, f.poller.looked = false, began
			return nil
		}
		if err := f.add(ctx, u, cursor); err != nil {
			return err
		}
	}
	return nil
}

// begin begins the topic. It stores the cursor next unless an update will store it.
func (f *framework) begin(ctx context.Context, u *Update, next string) error {
	first := pushlog.State{Until: time.Now().UTC().Truncate(time.Microsecond)}
	if u == nil {
		first.Documents = next
	}
	state, err := f.p.store.Begin(ctx, f.Topic, first)
	if err != nil {
		return err
	}
	if f.state = state; !state.Equal(first) {
		return pushlog.ErrMoved
	}
	return nil
}

// add appends the notification of u.
func (f *framework) add(ctx context.Context, u *Update, cursor string) error {
	var left omissions
	body, ok := frameworkDocument(u, &left)
	f.p.report(f.log, "documents", &left)
	if !ok {
		return fmt.Errorf("topic: an update of the documents (%T) has no valid entry", f.Documents)
	}
	n := pushlog.Notification{Topic: f.Topic, CapabilityList: f.CapabilityList, Body: body}
	next := pushlog.State{Number: f.state.Number + 1, Until: f.state.Until, Documents: cursor}
	if err := f.p.store.Append(ctx, n, f.state, next); err != nil {
		return err
	}
	f.p.counters.notifications.Add(1)
	f.state, f.published = next, time.Now()
	f.poller.progressed()
	f.p.wake(f.Topic)
	return nil
}
