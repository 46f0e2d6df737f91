package hub

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

const (
	// lookEvery is how often the store is asked for what is due, without being
	// woken; saveEvery is how often progress is saved; renewEvery is how often
	// claims are renewed of which there is no progress.
	lookEvery  = 500 * time.Millisecond
	saveEvery  = 250 * time.Millisecond
	renewEvery = time.Second

	// claimMargin is how long before a claim may end it is no longer relied on.
	claimMargin = time.Second

	// claimsPerWorker bounds the claims in memory; claimBatch is how many are
	// made, and at how many idle ones they are saved, at once; saveBatch is
	// how many are saved in one transaction.
	claimsPerWorker = 8
	claimBatch      = 512
	saveBatch       = 2048

	// stopTime is for how long attempts may go on when the hub is to end.
	stopTime = 2 * time.Second
)

// A deliverer claims subscriptions that have something to take, and brings it to
// them. Workers send; one goroutine, that of run, claims and saves, and no worker
// ever waits for it. What has been delivered and is not saved yet is delivered
// again if the process ends there.
type deliverer struct {
	store     pushlog.Log
	options   *Options
	transport http.RoundTripper
	log       *slog.Logger
	sparse    sparse.Log // of what subscribers can cause
	counters  *deliveries
	owner     string
	cache     *messageCache
	workers   sync.WaitGroup
	wake      chan struct{} // there may be something to claim
	crowded   chan struct{} // there is much to save

	mu       sync.Mutex
	queue    queue
	claims   map[int64]*claim
	idle     int // claims to be released
	working  int // workers
	stopping bool
	broken   bool // the store has failed, and that has been logged
}

// A claim is a subscription that this process works on. Its fields are guarded by
// the mutex of the deliverer; url belongs to the worker that sends.
type claim struct {
	sub     pushlog.Subscription
	url     *url.URL
	renewed time.Time // before the store last vouched for it
	state   state
	lane    lane
	unsaved bool // there is progress that is not saved
	cancel  context.CancelFunc

	// lost says that the subscription is not ours any more, or not as it
	// was. If it has been claimed anew while the last attempt is under way,
	// that is again.
	lost  bool
	again *claim
}

type state int

const (
	waiting   state = iota // for a worker
	sending                // a worker has it
	idle                   // there is nothing to do, for now
	releasing              // it is being saved as released
)

// deliver brings messages to subscriptions until ctx ends and what was under way
// is saved.
func (h *Hub) deliver(ctx context.Context) error {
	d := &deliverer{
		store:     h.store,
		options:   &h.options,
		transport: h.transport,
		log:       h.log,
		counters:  &h.deliveries,
		owner:     rand.Text(),
		cache:     newMessageCache(h.store, h.uri, cacheBytes),
		wake:      make(chan struct{}, 1),
		crowded:   make(chan struct{}, 1),
		claims:    map[int64]*claim{},
		queue:     newQueue(h.options.Workers, h.options.PerHost),
	}
	var others sync.WaitGroup
	others.Go(func() { d.watch(ctx) })
	others.Go(func() { d.tidy(ctx) })
	d.run(ctx)
	others.Wait()
	d.stop(ctx)
	if t, ok := h.transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
	return nil
}

// watch has the store wake d.
func (d *deliverer) watch(ctx context.Context) {
	for {
		err := d.store.Watch(ctx, func() {
			d.cache.woken()
			background.Signal(d.wake)
		})
		if ctx.Err() != nil {
			return
		}
		d.log.Warn("hub: watching the store has failed; looking twice a second meanwhile", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Minute):
		}
	}
}

func (d *deliverer) run(ctx context.Context) {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	d.claim(ctx)
	looked := time.Now()
	for {
		look := false
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
			d.rouse()
			look = true
		case <-d.crowded:
			look = d.save(ctx)
		case now := <-tick.C:
			look = d.save(ctx) || now.Sub(looked) >= lookEvery
		}
		if look {
			d.claim(ctx)
			looked = time.Now()
		}
	}
}

// room returns how many claims may still be made.
func (d *deliverer) room() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.most() - len(d.claims)
}

func (d *deliverer) most() int { return max(claimBatch, claimsPerWorker*d.options.Workers) }

// claim claims what is due, as long as there is room.
func (d *deliverer) claim(ctx context.Context) {
	for n := claimBatch; n == claimBatch; {
		n = min(claimBatch, d.room())
		if n <= 0 {
			return
		}
		now := time.Now()
		subs, err := d.store.Claim(ctx, d.owner, n)
		if d.trouble(ctx, err) || len(subs) == 0 {
			return
		}
		d.cache.woken()
		d.mu.Lock()
		for i := range subs {
			d.take(&claim{sub: subs[i], renewed: now})
		}
		d.mu.Unlock()
		n = len(subs)
	}
}

// take begins to work on c.
func (d *deliverer) take(c *claim) {
	if old := d.claims[c.sub.ID]; old != nil && old.state == sending {
		old.lost, old.again = true, c
		old.cancel()
		return
	} else if old != nil {
		d.forget(old)
	}
	d.claims[c.sub.ID] = c
	if d.queue.lane(c) == doubtful && d.queue.waiting[doubtful] >= d.most()/2 {
		d.postpone(c, vary(time.Minute/2)) // the other half is for others
		return
	}
	d.enqueue(c)
	d.shed(d.queue.hosts[c.sub.Host], time.Now())
}

// forget lets go of c, which no worker has.
func (d *deliverer) forget(c *claim) {
	c.lost = true // if it waits for a worker, that drops it
	if c.state == idle || c.state == releasing {
		d.idle--
	}
	delete(d.claims, c.sub.ID)
}

// enqueue lets c wait for a worker, and has one if there may be another.
func (d *deliverer) enqueue(c *claim) {
	d.queue.add(c)
	if d.working < d.options.Workers && !d.stopping {
		d.working++
		d.workers.Go(d.work)
	}
}

// rest says that there is nothing to do for c for now: the next save releases it.
func (d *deliverer) rest(c *claim) {
	c.state = idle
	if d.idle++; d.idle == claimBatch {
		background.Signal(d.crowded)
	}
}

// postpone lets c come back later, through no fault of its own.
func (d *deliverer) postpone(c *claim, after time.Duration) {
	c.sub.Progress.Retry = time.Now().Add(after)
	d.rest(c)
}

// shed postpones those who would have to wait too long for h.
func (d *deliverer) shed(h *host, now time.Time) {
	for {
		c, back := d.queue.surplus(h, now)
		if c == nil {
			return
		}
		if !c.lost {
			d.postpone(c, back)
		}
	}
}

// rouse has another look at those who had nothing to take.
func (d *deliverer) rouse() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.idle == 0 {
		return
	}
	now := time.Now()
	for _, c := range d.claims {
		if c.state == idle && !c.sub.Progress.End && !c.sub.Progress.Retry.After(now) {
			d.idle--
			d.enqueue(c)
		}
	}
}

// tidy sheds load now and then, and ends attempts whose claim may soon be
// another's: its owner must not overtake us, nor we him.
func (d *deliverer) tidy(ctx context.Context) {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		d.mu.Lock()
		now := time.Now()
		for _, h := range d.queue.hosts {
			d.shed(h, now)
		}
		for _, c := range d.claims {
			if c.state == sending && now.Sub(c.renewed) > pushlog.ClaimTime-claimMargin/2 {
				c.cancel()
			}
		}
		d.mu.Unlock()
	}
}
