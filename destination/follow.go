package destination

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/retry"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// FollowOptions are the optional arguments of [Destination.Follow]. The zero value is usable.
type FollowOptions struct {
	// Every is the interval of Syncs, which happen even if notifications arrive. Without a
	// channel, changes are noticed only by these Syncs. If zero, 15 minutes is used.
	Every time.Duration

	// Callback receives the notifications of hubs. The program serves it at its URL, as long
	// as Follow runs. If nil, Follow uses no WebSub.
	Callback *Callback

	// Report receives the result of each Sync, and of each group of notifications that has
	// changed the copy or failed. It may be nil.
	Report func(*Report, error)
}

const (
	defaultEvery = 15 * time.Minute

	// framePause is the minimum time between Syncs because of Framework Notifications, and
	// fillPause that between readings of the Change List of a set because of gaps.
	framePause = 2 * time.Second
	fillPause  = time.Second

	// retryFirst is the time after which a failed Sync or resource is tried again; it
	// doubles with each failure.
	retryFirst = 10 * time.Second
)

// Follow keeps the copy in step until ctx ends, and then returns nil. It begins with a Sync.
// Then it receives the notifications of the Source, reads the Change List when it has missed
// some, and repeats the Sync at intervals and after failures. A set is followed by WebSub if
// FollowOptions has a Callback and the Source a hub, otherwise by WebSocket if the Source has
// one, and otherwise by the Syncs alone.
//
// Lost, repeated and late notifications do no harm, nor does a process that ends at any moment.
// When ctx ends, Follow cancels its subscriptions, which takes up to five seconds.
//
// Other methods of d may be called while it runs.
func (d *Destination) Follow(ctx context.Context, o *FollowOptions) error {
	f := &follower{
		Destination: d, inbox: newInbox(), messages: make(chan struct{}, maxDeliveries),
		progress: make(map[string]*progress), channels: make(map[channelKey]*following),
	}
	if o != nil {
		f.options = *o
	}
	if f.options.Every < 0 {
		return errors.New("destination: FollowOptions.Every must not be negative")
	}
	f.options.Every = cmp.Or(f.options.Every, defaultEvery)
	f.retry = retry.Policy{First: min(retryFirst, f.options.Every), Max: f.options.Every}
	f.fillRetry = retry.Policy{First: fillPause, Max: f.options.Every}
	defer f.watch.change(func(s *Status) { s.Next = time.Time{} })
	defer f.end(ctx)
	for {
		if !time.Now().Before(f.next) {
			f.sync(ctx)
			continue
		}
		f.auditRequested(ctx)
		timer := time.NewTimer(min(time.Until(f.nextFill(f.next)), lookEvery))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-f.inbox.news:
		case <-timer.C:
		}
		timer.Stop()
		f.take(ctx)
	}
}

// A follower is a call of Follow.
type follower struct {
	*Destination
	options FollowOptions
	inbox   *inbox

	retry, fillRetry retry.Policy // of Syncs, and of readings because of gaps

	next     time.Time // of the next Sync
	synced   time.Time // of the last one
	failures int       // of Syncs, in a row
	applied  int64     // the position of the last pending change that has been tried

	progress map[string]*progress // of sets
	channels map[channelKey]*following
	polled   int            // sets without a channel, as last logged
	messages chan struct{}  // limits the WebSocket messages that are received at a time
	running  sync.WaitGroup // the channels that are being left
	sparse   sparse.Log
}

// sync is a Sync that determines the channels and the time of the next one.
func (f *follower) sync(ctx context.Context) {
	f.mu.Lock()
	r := f.newRun()
	r.follows = true
	err := r.whole(ctx)
	if len(r.sets) > 0 {
		err = errors.Join(err, f.listen(ctx, r.sets))
	}
	err = errors.Join(err, f.late(), f.tried())
	f.mu.Unlock()
	if ctx.Err() != nil {
		f.next = time.Now().Add(f.options.Every)
		return
	}
	f.synced = time.Now()
	f.next = f.synced.Add(f.options.Every)
	if err != nil || r.report.Failed > 0 {
		f.failures++
		f.next = f.synced.Add(f.retry.Wait(f.failures, 0))
	} else {
		f.failures = 0
	}
	f.watch.change(func(s *Status) { s.Next = f.next })
	f.tell(r.report, err)
}

// tried records that all pending changes have been tried: only a Sync tries failed ones again.
func (f *follower) tried() (err error) {
	f.applied, err = f.state.LastPending()
	return err
}

func (f *follower) tell(report *Report, err error) {
	if f.options.Report != nil {
		f.options.Report(report, err)
	}
}

// soon makes the next Sync happen in d or earlier.
func (f *follower) soon(d time.Duration) {
	if at := time.Now().Add(d); at.Before(f.next) {
		f.next = at
		f.watch.change(func(s *Status) { s.Next = at })
	}
}

// take reads and applies the notifications that have arrived.
func (f *follower) take(ctx context.Context) {
	all, missed := f.inbox.take()
	if len(all)+len(missed) == 0 && f.nextFill(f.next).After(time.Now()) {
		return
	}
	f.mu.Lock()
	r := f.newRun()
	ctx = r.patient(ctx)
	r.packages = newPackages(ctx, r)
	r.bytes, r.report.Resources = f.size.bytes, f.size.resources
	err := r.settle(ctx)
	if err == nil {
		err = f.note(ctx, r, all, missed)
	}
	if err == nil {
		_, err = r.apply(ctx, f.applied)
	}
	err = errors.Join(err, r.packages.close(), f.tried(), r.countChanges())
	r.notified()
	f.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		err = fmt.Errorf("destination: %w", err)
	}
	if err != nil || len(r.report.Failures) > 0 {
		f.soon(f.retry.Wait(max(f.failures, 1), 0))
	}
	if c := r.report; err != nil || c.Created+c.Updated+c.Deleted > 0 || len(c.Failures) > 0 {
		f.tell(c, err)
	}
}

// note notes the changes of notifications, and of the Change Lists of sets with missed ones.
func (f *follower) note(ctx context.Context, r *run, all []notification, missed map[channelKey]bool) error {
	for _, n := range all {
		if err := f.noteOne(ctx, r, n); err != nil {
			return err
		}
	}
	for key, sure := range missed {
		c := f.channels[key]
		if c == nil {
			continue // it is no longer followed
		}
		if sure && c.carries(resourcesync.FrameworkNotification) {
			f.discoverAgain()
		}
		f.missed(c)
	}
	for _, p := range f.progress {
		if err := f.fill(ctx, r, p); err != nil {
			return err
		}
	}
	return nil
}

// discoverAgain makes the next Sync happen soon, because the documents of the Source have
// changed.
func (f *follower) discoverAgain() { f.soon(time.Until(f.synced.Add(framePause))) }

// countChanges counts the resources of the copy after applying changes to the size that was
// known before, because counting all takes long.
func (r *run) countChanges() (err error) {
	c := r.report
	c.Resources += c.Created - c.Deleted
	c.Bytes = r.bytes
	r.size = size{c.Resources, c.Bytes}
	c.Failed, err = r.state.PendingCount()
	return err
}
