package sitemap

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

// A Stranger is the client in whose name a Site requests everything. A web server on the same
// computer or network may serve the Site pages that it refuses to visitors. So each request
// states in its header that it was forwarded for a client elsewhere. The zero value is such a
// client.
type Stranger struct {
	// Off sends no such headers. Pages that only the network of the Site may read are then
	// listed.
	Off bool

	// Address is the address of the client. If it is not valid, 192.0.2.1 is used, which is
	// reserved for documentation (RFC 5737).
	Address netip.Addr

	// Headers are the names of the headers that state the address. If empty, StrangerHeaders is used.
	Headers []string
}

// StrangerHeaders are the headers that web servers are commonly configured to trust.
var StrangerHeaders = []string{"X-Forwarded-For", "X-Real-IP", "Forwarded"}

func (s *Stranger) complete() {
	if !s.Address.IsValid() {
		s.Address = netip.AddrFrom4([4]byte{192, 0, 2, 1})
	}
	if len(s.Headers) == 0 {
		s.Headers = StrangerHeaders
	}
}

// String returns the headers, as an operator sees them.
func (s *Stranger) String() string {
	return fmt.Sprintf("%s: %s", strings.Join(s.Headers, ", "), s.Address)
}

// set sets the headers of a request for a page of the site.
func (s *Stranger) set(h http.Header, site *url.URL) {
	if s.Off {
		return
	}
	for _, name := range s.Headers {
		value := s.Address.String()
		if http.CanonicalHeaderKey(name) == "Forwarded" { // some software ignores X-Forwarded-Proto beside it
			if s.Address.Is6() {
				value = `"[` + value + `]"`
			}
			value = fmt.Sprintf("for=%s;host=%q;proto=%s", value, site.Host, site.Scheme)
		}
		h.Set(name, value)
	}
}

// asItself is the key of contexts of requests without the headers of a Stranger.
type asItself struct{}

// A StrangerError means that the website refuses to a stranger many of the pages that it serves
// to the Site itself. Its text names the headers.
type StrangerError struct {
	Stranger Stranger
	Sample   bool  // the numbers describe a sample
	Refused  int64 // pages that it refuses only the stranger
	Of       int64 // pages of the sample; 0 without one
}

func (e *StrangerError) Error() string {
	what := humanize.Comma(e.Refused) + " pages"
	if e.Sample {
		what = fmt.Sprintf("%s of a sample of %s pages", humanize.Comma(e.Refused), humanize.Comma(e.Of))
	}
	return fmt.Sprintf("the website refuses %s to a visitor with the header %s, but serves them to this program", what, e.Stranger.String())
}

// Rule returns a rule that permits the address of the stranger, in the syntax of nginx.
func (e *StrangerError) Rule() string { return "allow " + e.Stranger.Address.String() + ";" }

const (
	// judgeEvery is the interval of further samples while the set is hidden or refused pages
	// are withdrawn.
	judgeEvery = time.Minute

	// judgePause is the pause before it is checked whether another sample is due, or the
	// deletions were confirmed.
	judgePause = 2 * time.Second
)

// errDiffers means that a page must stay unchanged, because the set is hidden.
var errDiffers = errors.New("is refused to strangers, like too many others")

// Hidden implements [scan.Hider]: it returns a *[StrangerError] while the set must not be shown: the website refuses a stranger
// more of the listed pages than [Options].MaxRefuse allows. They may be private, or the website may
// distrust the headers. Otherwise it returns nil.
func (s *Site) Hidden() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hidden == nil {
		return nil
	}
	return s.hidden
}

// setHidden hides the set, or shows it again if e is nil, because another process with the same set
// has found out that it must be. A Site whose Stranger is off ignores it.
func (s *Site) setHidden(e *StrangerError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.judges():
	case e == nil && s.hidden != nil:
		s.show("the set is shown again, as by another process")
	case e != nil && s.hidden == nil:
		e.Stranger = s.options.Stranger
		s.hide(e)
	}
}

// judges reports whether refusals to strangers are judged at all.
func (s *Site) judges() bool {
	return !s.options.Stranger.Off && s.options.Verify != VerifyNone
}

// refused decides what a refusal of a listed page means: whether only a stranger is refused the
// page. An error means that the page must stay unchanged.
func (s *Site) refused(ctx context.Context, p *page) (stranger bool, err error) {
	if !s.judges() || p.known.Key == "" {
		return false, nil
	}
	switch itself, err := s.request(context.WithValue(ctx, asItself{}, true), p); {
	case err != nil:
		return true, nil // maybe; its deletion waits until a sample is judged
	case itself.reason != "":
		return false, nil // it is refused to everybody
	}
	s.mu.Lock()
	due := s.hidden == nil && time.Since(s.judged) >= judgeEvery
	s.mu.Unlock()
	if due {
		if _, err := s.judge(ctx, judgeEvery); err != nil { // deletions wait; see approve
			s.log.Debug("no sample of pages requested", "error", err)
		}
	}
	most, err := s.mayRefuse(ctx)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	lately := s.lately.count(now)
	if lately < most && s.hidden == nil {
		s.refusals++
		s.lately.add(now)
		return true, nil
	}
	if s.hidden == nil {
		s.hide(&StrangerError{Stranger: s.options.Stranger, Refused: lately + 1})
	}
	return false, errDiffers
}

// hide hides the set. The caller holds the lock.
func (s *Site) hide(e *StrangerError) {
	s.hidden = e
	s.log.Error("the set is not shown; permit the address of the visitor in the website, or "+s.options.Remedy, "error", e, "rule", e.Rule())
}

// show shows the set again, and has it scanned. The caller holds the lock.
func (s *Site) show(why string) {
	s.hidden, s.refusals, s.lately = nil, 0, tally{}
	s.log.Info(why)
	s.hints.wake()
}

// sampleStrangers compares the answers for a sample of the listed pages at the start, and again as
// long as the set is hidden.
func (s *Site) sampleStrangers(ctx context.Context) {
	if !s.judges() {
		return
	}
	for first := true; ; {
		s.mu.Lock()
		hidden, due := s.hidden != nil, time.Since(s.judged) >= judgeEvery
		s.mu.Unlock()
		switch {
		case first, hidden && due:
			found, err := s.judge(ctx, 0)
			if ctx.Err() != nil {
				return
			}
			if first = err != nil || found.of == 0; first { // the first scan may not have listed any yet
				break
			}
			if found.refused > 0 && !hidden {
				s.log.Warn("the website refuses visitors some of its pages, which leave the lists; if that is wrong, see --scan-as", "header", s.options.Stranger.String(), "refused", found.refused, "of", found.of)
			}
		case hidden:
			s.allow(ctx)
		}
		if background.Sleep(ctx, judgePause) != nil {
			return
		}
	}
}

// allow shows the set again if a confirmation allows all refusals.
func (s *Site) allow(ctx context.Context) {
	allowed, count, err := s.allowance(ctx)
	if err != nil || allowed < count {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hidden != nil {
		s.show("the set is shown, and pages that the website refuses strangers leave the lists, as confirmed")
	}
}

// allowance returns how many of the listed pages the website may refuse a stranger, beyond those
// that were withdrawn lately, and the number of listed pages.
func (s *Site) allowance(ctx context.Context) (allowed, count int64, err error) {
	most, err := s.mayRefuse(ctx)
	if err != nil {
		return 0, 0, err
	}
	st, err := s.set.Stat(ctx, resourcesync.Range{})
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, most-s.lately.count(time.Now())), st.Count, err
}

// approve judges a sample before a scan publishes the deletions of withdrawn pages. An error means
// that it must not.
func (s *Site) approve(ctx context.Context) error {
	if hidden := s.Hidden(); hidden != nil {
		return hidden
	}
	allowed, count, err := s.allowance(ctx)
	if err != nil || allowed >= count {
		return err
	}
	if _, err := s.judge(ctx, 0); err != nil {
		return fmt.Errorf("sitemap: deletions wait until it is known whether the website refuses visitors more pages: %w", err)
	}
	return s.Hidden()
}

// judge hides the set if a sample of the listed pages says that the website refuses a stranger more
// than MaxRefuse allows, and shows it again if it refuses none. If the last sample was judged less
// than an interval ago, it does nothing.
func (s *Site) judge(ctx context.Context, interval time.Duration) (found sample, err error) {
	select {
	case s.judging <- struct{}{}:
	case <-ctx.Done():
		return sample{}, ctx.Err()
	}
	defer func() { <-s.judging }()
	s.mu.Lock()
	fresh := time.Since(s.judged) < interval
	s.mu.Unlock()
	if fresh {
		return sample{}, nil
	}
	allowed, count, err := s.allowance(ctx)
	if err != nil {
		return sample{}, err
	}
	found, err = s.sample(ctx, allowed, count)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.judged = time.Now()
	if err != nil || found.of == 0 {
		return found, err
	}
	switch many := found.isMany(allowed, count); {
	case many && s.hidden == nil:
		s.hide(&StrangerError{s.options.Stranger, true, found.refused, found.of})
	case !many && s.hidden != nil && found.refused == 0:
		s.show("the website answers strangers again, and the set is shown")
	}
	return found, nil
}
