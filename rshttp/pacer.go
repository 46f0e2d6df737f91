package rshttp

import (
	"context"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
)

// A pacer limits the speed at which each client is sent packages. A client is an
// address: however many connections it has, they share the limit.
type pacer struct {
	rate int64 // bytes per second; zero for no limit

	mu      sync.Mutex
	clients map[string]*pace
}

// A pace is what a client has had. It has no limit if it is nil.
type pace struct {
	pacer     *pacer
	transfers int
	next      time.Time // when the client has had what it has been sent
}

func newPacer(rate int64) *pacer {
	return &pacer{rate: rate, clients: make(map[string]*pace)}
}

// start begins a transfer to a client. Clients without one are forgotten when
// they have sat out their time, so that coming anew gains nothing.
func (p *pacer) start(client string) *pace {
	if p.rate == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for key, c := range p.clients {
		if c.transfers == 0 && !c.next.After(now) {
			delete(p.clients, key)
		}
	}
	c := p.clients[client]
	if c == nil {
		c = &pace{pacer: p}
		p.clients[client] = c
	}
	c.transfers++
	return c
}

func (p *pace) end() {
	if p == nil {
		return
	}
	p.pacer.mu.Lock()
	defer p.pacer.mu.Unlock()
	p.transfers--
}

// chunk returns how many bytes, at most most, to send at once: what takes a
// quarter of a second.
func (p *pace) chunk(most int64) int64 {
	if p == nil {
		return most
	}
	return max(1, min(most, p.pacer.rate/4))
}

// wait waits until the client may be sent n more bytes.
func (p *pace) wait(ctx context.Context, n int) error {
	if p == nil {
		return nil
	}
	p.pacer.mu.Lock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	delay := p.next.Sub(now)
	p.next = p.next.Add(time.Duration(float64(n) / float64(p.pacer.rate) * float64(time.Second)))
	p.pacer.mu.Unlock()
	if background.Sleep(ctx, delay) != nil {
		return ctx.Err()
	}
	return nil
}
