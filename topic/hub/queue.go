package hub

import (
	"math/rand/v2"
	"time"
)

// Claims are in one of two lanes: those that will probably be served promptly, and
// those whose last attempt failed or whose host was slow lately. The doubtful never
// have more than half of the workers, and half of the places of a host.
type lane int

const (
	prompt lane = iota
	doubtful
	lanes
)

// maxHostWait is how long a claim may wait for a place at its host. A claim that
// would have to wait longer gives up its place in memory to one of another host.
const maxHostWait = 2 * time.Second

// A host that has taken longer than maxHostWait is doubtful for slowTime; slowHosts is
// how many are remembered.
const (
	slowTime  = 10 * time.Minute
	slowHosts = 10_000
)

// A queue hands out claims to workers: hosts in turn, the claims of each in the
// order they came, never more of one host at a time than perHost.
type queue struct {
	workers, perHost int
	hosts            map[string]*host
	slow             map[string]time.Time // when hosts were slow last
	ready            [lanes]fifo[*host]   // that have a claim waiting and a place for it
	waiting, sending [lanes]int
	last             lane
}

func newQueue(workers, perHost int) queue {
	return queue{workers: workers, perHost: perHost, hosts: map[string]*host{}, slow: map[string]time.Time{}}
}

type host struct {
	name    string
	waiting [lanes]fifo[*claim]
	sending [lanes]int
	ready   [lanes]bool

	pace  time.Duration // how long attempts have taken lately
	moved time.Time     // when the last attempt began or ended
	debt  int           // claims postponed that are still to come back
}

// add lets c wait for a worker.
func (q *queue) add(c *claim) {
	h := q.host(c.sub.Host)
	c.lane = q.lane(c)
	c.state = waiting
	h.waiting[c.lane].push(c)
	q.waiting[c.lane]++
	q.list(h)
}

func (q *queue) host(name string) *host {
	h := q.hosts[name]
	if h == nil {
		h = &host{name: name}
		q.hosts[name] = h
	}
	return h
}

// lane returns the lane that c belongs into now.
func (q *queue) lane(c *claim) lane {
	if c.sub.Progress.Failures > 0 {
		return doubtful
	}
	last, slow := q.slow[c.sub.Host]
	switch {
	case !slow:
		return prompt
	case time.Since(last) > slowTime:
		delete(q.slow, c.sub.Host)
		return prompt
	}
	return doubtful
}

// take returns the next claim to work on, nil if there is none that may be.
func (q *queue) take(now time.Time) *claim {
	for range lanes {
		q.last = (q.last + 1) % lanes
		if q.last == doubtful && q.sending[doubtful] >= max(1, q.workers/2) {
			continue
		}
		for q.ready[q.last].len() > 0 {
			h := q.ready[q.last].pop()
			h.ready[q.last] = false
			if !q.open(h, q.last) {
				continue
			}
			c := h.waiting[q.last].pop()
			c.state = sending
			q.waiting[q.last]--
			h.sending[q.last]++
			q.sending[q.last]++
			h.moved = now
			q.list(h)
			return c
		}
	}
	return nil
}

// done says that the worker is through with c, after so long if it has sent
// something.
func (q *queue) done(c *claim, now time.Time, took time.Duration) {
	h := q.hosts[c.sub.Host]
	h.sending[c.lane]--
	q.sending[c.lane]--
	if took > 0 {
		h.moved = now
		h.pace += (took - h.pace) / 4
		h.debt = max(0, h.debt-1)
	}
	if took > maxHostWait {
		q.slow[h.name] = now
		for name := range q.slow { // any, if there are too many
			if len(q.slow) <= slowHosts {
				break
			}
			delete(q.slow, name)
		}
	}
	q.list(h)
	q.forget(h)
}

func (q *queue) forget(h *host) {
	if h.sending == [lanes]int{} && h.waiting[prompt].len()+h.waiting[doubtful].len() == 0 {
		delete(q.hosts, h.name)
	}
}

// open reports whether a claim of h waits in l and may be sent.
func (q *queue) open(h *host, l lane) bool {
	return h.waiting[l].len() > 0 && h.sending[prompt]+h.sending[doubtful] < q.perHost &&
		(l == prompt || h.sending[doubtful] < max(1, q.perHost/2))
}

func (q *queue) list(h *host) {
	for l := range lanes {
		if !h.ready[l] && q.open(h, l) {
			h.ready[l] = true
			q.ready[l].push(h)
		}
	}
}

// surplus takes a claim that would have to wait too long for its host out of the
// queue, and says when it had better come back; nil if there is none.
func (q *queue) surplus(h *host, now time.Time) (c *claim, back time.Duration) {
	pace := h.pace
	if h.sending[prompt]+h.sending[doubtful] >= q.perHost {
		pace = max(pace, now.Sub(h.moved))
	}
	room := max(q.perHost, int(float64(q.perHost)*float64(maxHostWait)/float64(max(pace, 1))))
	if h.waiting[prompt].len()+h.waiting[doubtful].len() <= room {
		return nil, 0
	}
	l := doubtful
	if h.waiting[doubtful].len() == 0 {
		l = prompt
	}
	c = h.waiting[l].popBack()
	q.waiting[l]--
	h.debt++
	back = min(max(maxHostWait, pace*time.Duration(h.debt)/time.Duration(q.perHost)), time.Minute)
	return c, vary(back)
}

// A fifo is a queue in a slice.
type fifo[T any] struct {
	items []T
	head  int
}

func (f *fifo[T]) len() int { return len(f.items) - f.head }

func (f *fifo[T]) push(v T) {
	if f.head == len(f.items) || f.head > 32 && f.head > len(f.items)/2 {
		n := copy(f.items, f.items[f.head:])
		clear(f.items[n:])
		f.items, f.head = f.items[:n], 0
	}
	f.items = append(f.items, v)
}

func (f *fifo[T]) pop() T {
	v := f.items[f.head]
	var zero T
	f.items[f.head] = zero
	f.head++
	return v
}

func (f *fifo[T]) popBack() T {
	i := len(f.items) - 1
	v := f.items[i]
	var zero T
	f.items[i] = zero
	f.items = f.items[:i]
	return v
}

// vary returns d, give or take a fifth.
func vary(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}
