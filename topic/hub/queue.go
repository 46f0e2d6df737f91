package hub

import (
	"math/rand/v2"
	"time"
)

// A lane is one of two classes of claims: those that will probably be delivered promptly,
// and doubtful ones, whose last attempt failed or whose host was slow recently. Doubtful
// claims get at most half of the workers, and half of the places of a host.
type lane int

const (
	prompt lane = iota
	doubtful
	lanes
)

// maxHostWait is the maximum time that a claim waits for a place at its host. A claim that
// would have to wait longer is postponed, so that a claim of another host can be in memory.
const maxHostWait = 2 * time.Second

// A host that has taken longer than maxHostWait is doubtful for slowTime. slowHosts is the
// maximum number of remembered hosts.
const (
	slowTime  = 10 * time.Minute
	slowHosts = 10_000
)

// A queue gives claims to workers: hosts in turn, the claims of a host in order, and at most
// perHost claims of a host at a time.
type queue struct {
	workers, perHost int
	hosts            map[string]*host
	slow             map[string]time.Time // the last time that a host was slow
	ready            [lanes]fifo[*host]   // hosts with a waiting claim and a free place
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

	pace  time.Duration // recent duration of attempts
	moved time.Time     // when the last attempt began or ended
	debt  int           // postponed claims that have not returned
}

func (q *queue) add(c *claim) {
	h := q.hosts[c.sub.Host]
	if h == nil {
		h = &host{name: c.sub.Host}
		q.hosts[h.name] = h
	}
	c.lane = q.lane(c)
	c.state = waiting
	h.waiting[c.lane].push(c)
	q.waiting[c.lane]++
	q.list(h)
}

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

// take returns the next claim to work on, or nil if none is allowed.
func (q *queue) take(now time.Time) *claim {
	for range lanes {
		q.last = (q.last + 1) % lanes
		if q.last == doubtful && q.sending[doubtful] >= max(1, q.workers/2) {
			continue
		}
		for len(q.ready[q.last]) > 0 {
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

// done records that the worker has finished with c. took is the duration of its attempt, or
// zero if it has sent nothing.
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
		for name := range q.slow { // drop any if there are too many
			if len(q.slow) <= slowHosts {
				break
			}
			delete(q.slow, name)
		}
	}
	q.list(h)
	if h.sending == [lanes]int{} && len(h.waiting[prompt])+len(h.waiting[doubtful]) == 0 {
		delete(q.hosts, h.name)
	}
}

// open reports whether a claim of h waits in lane l and may be sent.
func (q *queue) open(h *host, l lane) bool {
	return len(h.waiting[l]) > 0 && h.sending[prompt]+h.sending[doubtful] < q.perHost &&
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

// surplus removes a claim that would have to wait too long for its host, and returns it with
// the time after which it should return; nil if there is none.
func (q *queue) surplus(h *host, now time.Time) (c *claim, back time.Duration) {
	pace := h.pace
	if h.sending[prompt]+h.sending[doubtful] >= q.perHost {
		pace = max(pace, now.Sub(h.moved))
	}
	room := max(q.perHost, int(float64(q.perHost)*float64(maxHostWait)/float64(max(pace, 1))))
	if len(h.waiting[prompt])+len(h.waiting[doubtful]) <= room {
		return nil, 0
	}
	l := doubtful
	if len(h.waiting[doubtful]) == 0 {
		l = prompt
	}
	c = h.waiting[l].popBack()
	q.waiting[l]--
	h.debt++
	back = min(max(maxHostWait, pace*time.Duration(h.debt)/time.Duration(q.perHost)), time.Minute)
	return c, vary(back)
}

// A fifo is a queue. pop advances the slice, so append copies only the remaining elements
// when it grows.
type fifo[T any] []T

func (f *fifo[T]) push(v T) { *f = append(*f, v) }

func (f *fifo[T]) pop() T {
	q, v := *f, (*f)[0]
	clear(q[:1]) // for the garbage collector
	*f = q[1:]
	return v
}

func (f *fifo[T]) popBack() T {
	q := *f
	i := len(q) - 1
	v := q[i]
	clear(q[i:])
	*f = q[:i]
	return v
}

// vary returns d, changed at random by up to a fifth.
func vary(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}
