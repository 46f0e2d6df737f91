package hub

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/outgoing"
)

const (
	// cacheBytes is the maximum total size of the messages in memory.
	cacheBytes = 32 << 20

	// lookEvery is the interval at which the hub claims due subscriptions without being woken,
	// saveEvery the interval at which it saves progress, and renewEvery the interval at which
	// it renews claims without progress.
	lookEvery  = 500 * time.Millisecond
	saveEvery  = 250 * time.Millisecond
	renewEvery = time.Second

	// claimMargin is the time before the end of a claim at which the hub no longer
	// relies on it.
	claimMargin = time.Second

	// claimsPerWorker limits the claims in memory. claimBatch is the number of claims
	// made at once, and the number of idle ones that triggers a save. saveBatch is the
	// number of claims saved in one transaction.
	claimsPerWorker = 8
	claimBatch      = 512
	saveBatch       = 2048

	// stopTime is the time for which attempts may continue when the hub stops.
	stopTime = 2 * time.Second
)

// A deliverer claims subscriptions with undelivered messages, and delivers them. Workers
// send; the goroutine of run claims and saves, and no worker waits for it. If the process
// ends before a delivery is saved, the message is delivered again.
type deliverer struct {
	hub     *Hub
	owner   string
	cache   *outgoing.Cache
	workers sync.WaitGroup
	wake    chan struct{} // there may be something to claim
	crowded chan struct{} // there are many claims to save

	mu       sync.Mutex
	queue    queue
	claims   map[int64]*claim
	idle     int // claims to be released
	working  int // workers
	stopping bool
}

// A claim is a subscription that this process has claimed. The mutex of the deliverer
// guards its fields; url belongs to the worker that sends.
type claim struct {
	sub     pushlog.Subscription
	url     *url.URL
	renewed time.Time // a time before the store last confirmed the claim
	state   state
	lane    lane
	unsaved bool // there is unsaved progress

	// refused is the number of the next notification while its successor is sent
	// instead, because the subscriber has refused it for refusedTime; otherwise zero.
	refused int64

	cancel context.CancelFunc

	// lost means that the claim has ended or the subscription has changed. If the
	// subscription is claimed again during the last attempt, again is the new claim.
	lost  bool
	again *claim
}

type state int

const (
	waiting   state = iota // for a worker
	sending                // by a worker
	idle                   // nothing to deliver at present
	releasing              // being saved as released
)

// deliver delivers messages until ctx ends and the progress of running attempts is saved.
func (h *Hub) deliver(ctx context.Context) error {
	d := &deliverer{
		hub:     h,
		owner:   rand.Text(),
		cache:   outgoing.NewCache(h.store, cacheBytes, h.header),
		wake:    make(chan struct{}, 1),
		crowded: make(chan struct{}, 1),
		claims:  map[int64]*claim{},
		queue:   newQueue(h.options.Workers, h.options.PerHost),
	}
	var others sync.WaitGroup
	others.Go(func() {
		background.Watch(ctx, d.hub.store.Watch, func() {
			d.cache.Wake()
			background.Signal(d.wake)
		}, d.hub.log, "hub: watching the store failed; polling it twice a second")
	})
	others.Go(func() { d.tidy(ctx) })
	d.run(ctx)
	others.Wait()
	d.stop(ctx)
	if t, ok := h.transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
	return nil
}

func (d *deliverer) run(ctx context.Context) {
	tick := time.NewTicker(d.hub.saveEvery)
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

func (d *deliverer) most() int { return max(claimBatch, claimsPerWorker*d.hub.options.Workers) }

// claim claims due subscriptions, as long as there is room.
func (d *deliverer) claim(ctx context.Context) {
	for n := claimBatch; n == claimBatch; {
		d.mu.Lock()
		n = min(claimBatch, d.most()-len(d.claims))
		d.mu.Unlock()
		if n <= 0 {
			return
		}
		now := time.Now()
		subs, err := d.hub.store.Claim(ctx, d.owner, n)
		if !d.hub.stored(ctx, "delivering", err) || len(subs) == 0 {
			return
		}
		d.cache.Wake()
		d.mu.Lock()
		for i := range subs {
			d.take(&claim{sub: subs[i], renewed: now})
		}
		d.mu.Unlock()
		n = len(subs)
	}
}

// take starts work on c.
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
		d.postpone(c, vary(time.Minute/2)) // the other half is for other claims
		return
	}
	d.enqueue(c)
	d.shed(d.queue.hosts[c.sub.Host], time.Now())
}

// forget drops c, which no worker has.
func (d *deliverer) forget(c *claim) {
	c.lost = true // a worker that takes it from the queue drops it
	if c.state == idle || c.state == releasing {
		d.idle--
	}
	delete(d.claims, c.sub.ID)
}

// enqueue adds c to the queue, and starts another worker if allowed.
func (d *deliverer) enqueue(c *claim) {
	d.queue.add(c)
	if d.working < d.hub.options.Workers && !d.stopping {
		d.working++
		d.workers.Go(d.work)
	}
}

// rest marks c as idle: the next save releases it.
func (d *deliverer) rest(c *claim) {
	c.state, c.refused = idle, 0
	if d.idle++; d.idle == claimBatch {
		background.Signal(d.crowded)
	}
}

// postpone releases c until later, without counting a failure.
func (d *deliverer) postpone(c *claim, after time.Duration) {
	p := &c.sub.Progress
	if later := time.Now().Add(after); later.After(p.Retry) {
		p.Retry = later
	}
	d.rest(c)
}

// shed postpones claims that would have to wait too long for h.
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

// rouse checks idle claims for new messages.
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

// tidy sheds load, and ends attempts whose claims are about to end: a new owner and this
// process must not deliver at the same time.
func (d *deliverer) tidy(ctx context.Context) {
	for background.Sleep(ctx, d.hub.saveEvery) == nil {
		d.mu.Lock()
		now := time.Now()
		for _, h := range d.queue.hosts {
			d.shed(h, now)
		}
		d.mu.Unlock()
		d.interrupt(now.Add(claimMargin/2 - pushlog.ClaimTime))
	}
}
