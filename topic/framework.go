package topic

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

// maxUpdates bounds the Framework Notifications that follow each other at once.
const maxUpdates = 16

// framework makes the notifications of a framework channel. It is used by one
// goroutine.
type framework struct {
	*Channel
	p      *Publisher
	log    *slog.Logger
	poller *poller

	state pushlog.State
	known bool      // state is the topic's
	told  time.Time // when the newest notification of this process was added, or long ago
}

func newFramework(p *Publisher, c *Channel) *framework {
	return &framework{Channel: c, p: p, log: p.log.With("topic", sparse.RedactURI(c.Topic)), poller: newPoller(c)}
}

// work asks for what has changed, tells it, and returns how long to wait for more.
func (f *framework) work(ctx context.Context) (time.Duration, error) {
	if rest := f.p.options.Framework - time.Since(f.told); rest > 0 {
		return rest, nil
	}
	err := f.poller.ask(ctx)
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
		f.p.wake(f.Topic) // what another process may have added is to be sent too
	}
	for range maxUpdates {
		began := time.Now()
		u, now, err := f.Documents.Next(ctx, f.state.Documents)
		if err != nil {
			return err
		}
		if f.state.Equal(pushlog.State{}) {
			if err := f.begin(ctx, u, now); err != nil {
				return err
			}
		}
		if u == nil {
			f.poller.due, f.poller.looked = false, began
			return nil
		}
		if err := f.add(ctx, u, now); err != nil {
			return err
		}
	}
	return nil
}

// begin begins the topic with what is known now, unless an update will say so.
func (f *framework) begin(ctx context.Context, u *Update, now string) error {
	first := pushlog.State{Until: time.Now().UTC().Truncate(time.Microsecond)}
	if u == nil {
		first.Documents = now
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
func (f *framework) add(ctx context.Context, u *Update, now string) error {
	var left leftOut
	body, ok := frameworkDocument(u, &left)
	f.p.report(f.log, "documents", &left)
	if !ok {
		return fmt.Errorf("topic: the documents (%T) gave an update without any entry that can be told", f.Documents)
	}
	n := pushlog.Notification{Topic: f.Topic, CapabilityList: f.CapabilityList, Body: body}
	next := pushlog.State{Number: f.state.Number + 1, Until: f.state.Until, Documents: now}
	if err := f.p.store.Append(ctx, n, f.state, next); err != nil {
		return err
	}
	f.p.counters.notifications.Add(1)
	f.state, f.told = next, time.Now()
	f.poller.told()
	f.p.wake(f.Topic)
	return nil
}
