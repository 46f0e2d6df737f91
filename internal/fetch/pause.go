package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/retry"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
)

const (
	// maxPause is the longest wait for a host. If a host asks for more, requests fail.
	maxPause = 5 * time.Minute

	// maxAsked is the longest pause that is kept. A process that runs for years must not
	// stop because of one response.
	maxAsked = 24 * time.Hour

	// shortPause is the pause after a 429 that states none.
	shortPause = 5 * time.Second

	// trustTime is the time in which the 503 of a resource says nothing about its host,
	// after another request has succeeded.
	trustTime = time.Hour
)

// A kind distinguishes requests for which a 503 has different meanings. For a document, the
// host is overloaded. A resource can be overloaded alone, and the resources of a package
// can be requested one by one.
type kind int

const (
	document kind = iota
	resource
	packaged
)

type kindKey struct{}

func withKind(ctx context.Context, k kind) context.Context {
	return context.WithValue(ctx, kindKey{}, k)
}

func kindOf(ctx context.Context) kind {
	k, _ := ctx.Value(kindKey{}).(kind)
	return k
}

// ErrPaused means that a server has asked for a long pause.
var ErrPaused = errors.New("the server has asked for a pause (Retry-After)")

// A Pause is the time before which a host, such as https://example.org:443, is not requested.
type Pause struct {
	Host  string
	Until time.Time
}

// A PausedError is an [ErrPaused] of a host.
type PausedError struct{ Pause }

func (e *PausedError) Error() string {
	return fmt.Sprintf("%s has asked for a pause (Retry-After) until %s", e.Host, timetext.Of(e.Until))
}

// Is implements the interface of [errors.Is].
func (e *PausedError) Is(target error) bool { return target == ErrPaused }

// A suspicion is that a host needs a pause, because a resource has answered 503. It is not
// requested until a time. Then a single request decides.
type suspicion struct {
	since, until time.Time
	asked        time.Time // until when resources have asked to wait; zero if there is no suspicion
}

// A probe is a document of a host that has been read.
type probe struct {
	uri        string
	validators Validators
}

// record records what a response says about the pauses of its host.
func (to *host) record(r *http.Request, res *http.Response) {
	now := time.Now()
	asked := min(retry.After(res.Header, now), maxAsked)
	k := kindOf(r.Context())
	switch {
	case res.StatusCode == http.StatusTooManyRequests:
		if asked == 0 {
			asked = shortPause
		}
		to.pause.Extend(now.Add(asked))
	case res.StatusCode == http.StatusServiceUnavailable && k == document:
		to.pause.Extend(now.Add(asked))
	case res.StatusCode == http.StatusServiceUnavailable && k == resource && asked > 0:
		to.suspect(now, asked)
	case k == document && (res.StatusCode == http.StatusOK || res.StatusCode == http.StatusNotModified):
		to.read(r, res)
	}
}

// read records a document that can decide about a suspicion.
func (to *host) read(r *http.Request, res *http.Response) {
	if r.Method != http.MethodGet || r.URL.Path == robotsPath {
		return
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	to.probe = probe{r.URL.String(), ValidatorsOf(res.Header)}
}

// suspect begins or extends a suspicion.
func (to *host) suspect(now time.Time, asked time.Duration) {
	to.mu.Lock()
	defer to.mu.Unlock()
	if now.Before(to.trusted) {
		return
	}
	s := &to.suspicion
	if s.asked.IsZero() {
		s.since = now
	}
	s.until = earlier(s.since.Add(maxPause), later(s.until, now.Add(asked)))
	s.asked = later(s.asked, now.Add(asked))
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (to *host) suspected() (s suspicion, ok bool) {
	to.mu.Lock()
	defer to.mu.Unlock()
	return to.suspicion, !to.suspicion.asked.IsZero()
}

// wait waits until the rate and the pauses of the host allow a request.
func (h *hosts) wait(ctx context.Context, to *host) error {
	for {
		if rest := to.pause.Rest(); rest > maxPause {
			return &PausedError{Pause{to.name, time.Now().Add(rest)}}
		} else if rest > 0 {
			if err := background.Sleep(ctx, rest); err != nil {
				return err
			}
			continue
		}
		s, suspected := to.suspected()
		switch rest := time.Until(s.until); {
		case !suspected:
			if err := to.limiter.Wait(ctx); err != nil {
				return err
			}
			if _, suspected := to.suspected(); !suspected && to.pause.Rest() <= 0 { // nor meanwhile
				return nil
			}
		case rest <= 0:
			if err := h.decide(ctx, to); err != nil {
				return err
			}
		case !patienceOf(ctx).Allow(s.until):
			return &PausedError{Pause{to.name, s.until}}
		default:
			if err := background.Sleep(ctx, rest); err != nil {
				return err
			}
		}
	}
}

// decide ends a suspicion by a request for a document of the host, which is sent alone.
func (h *hosts) decide(ctx context.Context, to *host) error {
	select {
	case to.deciding <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-to.deciding }()
	s, suspected := to.suspected()
	if !suspected {
		return nil // another request has decided
	}
	if err := to.limiter.Wait(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, idleTimeout)
	defer cancel()
	to.mu.Lock()
	p := to.probe
	to.mu.Unlock()
	if p.uri == "" {
		p.uri = to.name + robotsPath
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.uri, nil)
	if err != nil {
		return err
	}
	r.Header = p.validators.Header()
	r.Header.Set("User-Agent", h.options.agent(r.URL))
	res, err := h.transport.RoundTrip(r)
	if err != nil {
		to.count(err)
		return err
	}
	res.Body.Close()
	now := time.Now()
	to.mu.Lock()
	defer to.mu.Unlock()
	to.suspicion = suspicion{}
	if res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable {
		to.pause.Extend(later(s.asked, now.Add(min(retry.After(res.Header, now), maxAsked))))
		return nil
	}
	to.trusted = now.Add(trustTime)
	return nil
}

// Pauses returns the pauses of hosts, the longest first.
func (c *Client) Pauses() (all []Pause) {
	now := time.Now()
	c.hosts.mu.Lock()
	for _, to := range c.hosts.hosts {
		s, _ := to.suspected()
		if until := later(now.Add(to.pause.Rest()), s.until); until.After(now) {
			all = append(all, Pause{to.name, until})
		}
	}
	c.hosts.mu.Unlock()
	slices.SortFunc(all, func(a, b Pause) int {
		if d := b.Until.Compare(a.Until); d != 0 {
			return d
		}
		return strings.Compare(a.Host, b.Host)
	})
	return all
}

// Pause makes c pause a host as long as another client would have, but for no more than a day
// from now.
func (c *Client) Pause(p Pause) error {
	u, err := url.Parse(p.Host)
	if err != nil {
		return err
	}
	c.hosts.host(u).pause.Extend(earlier(p.Until, time.Now().Add(maxAsked)))
	return nil
}
