package sitemap

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

// A Stranger is the client in whose name a Site requests everything. A web server in the same
// computer or network may answer the Site what it refuses visitors. So each request says in its
// header that it was forwarded for a client elsewhere. The zero value is such a client.
type Stranger struct {
	// Off sends no such headers. Pages that only the network of the Site may read are then
	// listed.
	Off bool

	// Address is the client. If it is not valid, 192.0.2.1 is used, which belongs to nobody
	// (RFC 5737).
	Address netip.Addr

	// Headers are the names of the headers that state the address. If there are none, those
	// of StrangerHeaders are used.
	Headers []string
}

// StrangerHeaders are the headers that web servers are commonly told to trust.
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

// A StrangerError means that the website refuses a stranger many of the pages that it answers the
// Site itself. Its text names the headers.
type StrangerError struct {
	Stranger Stranger
	Sample   bool // the numbers describe a sample
	Refused  int64
	Of       int64
}

func (e *StrangerError) Error() string {
	what := fmt.Sprintf("%d pages", e.Refused)
	if e.Sample {
		what = fmt.Sprintf("%d of a sample of %d pages", e.Refused, e.Of)
	}
	return fmt.Sprintf("the website refuses a visitor with the header %s what it answers this program: %s", e.Stranger.String(), what)
}

// Rule returns a rule that permits the address of the stranger, in the syntax of nginx.
func (e *StrangerError) Rule() string { return "allow " + e.Stranger.Address.String() + ";" }

const (
	// sampleSize is the number of listed pages that are requested twice at the start.
	sampleSize = 20

	// sampleEvery is the interval of further samples while the set is hidden.
	sampleEvery = time.Minute

	// samplePause is the pause before it is checked whether another sample is due, or the
	// deletions were confirmed.
	samplePause = 2 * time.Second
)

// errDiffers means that a page must stay as it is, because the set is hidden.
var errDiffers = errors.New("is refused to strangers, like too many others")

// Hidden returns a *[StrangerError] while the set must not be shown: the website refuses a stranger
// more of the listed pages than [Options.MayRefuse] allows. They may be private, or the website may
// distrust the headers. Otherwise it returns nil.
func (s *Site) Hidden() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hidden == nil {
		return nil
	}
	return s.hidden
}

// refused decides what a refusal of a listed page means: whether only a stranger is refused the
// page. An error means that it must stay as it is.
func (s *Site) refused(ctx context.Context, p *page) (stranger bool, err error) {
	if s.options.Stranger.Off || p.known.Key == "" || s.options.MayRefuse == nil {
		return false, nil
	}
	itself, err := s.request(context.WithValue(ctx, asItself{}, true), p)
	if err != nil || itself.reason != "" {
		return false, nil // it is refused to everybody
	}
	most, err := s.options.MayRefuse(ctx)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusals < most && s.hidden == nil {
		s.refusals++
		return true, nil
	}
	if s.hidden == nil {
		s.hide(&StrangerError{Stranger: s.options.Stranger, Refused: s.refusals + 1})
	}
	return false, errDiffers
}

// hide hides the set. The caller holds the lock.
func (s *Site) hide(e *StrangerError) {
	s.hidden = e
	s.log.Error("the set is not shown: set the address and header of a visitor that the website trusts, or none, with --scan-as; or permit the address in the website; or publish the deletions with confirm-deletions; see docs/sidecar.md",
		"error", e, "rule", e.Rule(), "confirm", "resourcesync confirm-deletions")
}

// show shows the set again, and has it scanned. The caller holds the lock.
func (s *Site) show(why string) {
	s.hidden, s.refusals, s.judged = nil, 0, 0
	s.log.Info(why)
	s.hints.wake()
}

// sampleStrangers compares the answers for a sample of the listed pages at the start, and again as
// long as the set is hidden.
func (s *Site) sampleStrangers(ctx context.Context) {
	if s.options.MayRefuse == nil || s.options.Stranger.Off || s.options.Verify == VerifyNone {
		return
	}
	var last time.Time // of a sample
	for {
		switch {
		case last.IsZero(), s.Hidden() != nil && time.Since(last) >= sampleEvery:
			of, refused := s.sample(ctx)
			if ctx.Err() != nil {
				return
			}
			if refused > 0 && last.IsZero() {
				s.log.Warn("the website refuses visitors some of its pages, which leave the lists; if that is wrong, see --scan-as", "header", s.options.Stranger.String(), "refused", refused, "of", of)
			}
			if of > 0 && s.judge(ctx, of, refused) { // the first scan may not have listed any yet
				last = time.Now()
			}
		case s.Hidden() != nil:
			s.allow(ctx)
		}
		if background.Sleep(ctx, samplePause) != nil {
			return
		}
	}
}

// allow shows the set again if MayRefuse allows all pages.
func (s *Site) allow(ctx context.Context) {
	most, err := s.options.MayRefuse(ctx)
	st, failed := s.set.(resourcesync.Stater).Stat(ctx, resourcesync.Range{})
	if err != nil || failed != nil || most < st.Count {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hidden != nil {
		s.show("the set is shown, and pages that the website refuses strangers leave the lists, as confirmed")
	}
}

// judgeRefusals hides the set before a scan publishes the deletions of refused pages if the website
// refuses a stranger all of a sample of the others.
func (s *Site) judgeRefusals(ctx context.Context) {
	s.mu.Lock()
	due := s.refusals != s.judged && s.hidden == nil
	s.judged = s.refusals
	s.mu.Unlock()
	if !due {
		return
	}
	if of, refused := s.sample(ctx); of > 0 && refused == of {
		s.judge(ctx, of, refused)
	}
}

// judge hides the set or shows it again, and reports whether it could.
func (s *Site) judge(ctx context.Context, of, refused int64) (judged bool) {
	most, err := s.options.MayRefuse(ctx)
	st, failed := s.set.(resourcesync.Stater).Stat(ctx, resourcesync.Range{})
	if err != nil || failed != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch many := float64(refused)*float64(st.Count) > float64(most)*float64(of); {
	case many && s.hidden == nil:
		s.hide(&StrangerError{s.options.Stranger, true, refused, of})
	case !many && s.hidden != nil && refused == 0:
		s.show("the website answers strangers again, and the set is shown")
	}
	return true
}

// sample requests some listed pages, as a stranger and as itself, and returns how many the website
// refuses a stranger.
func (s *Site) sample(ctx context.Context) (of, refused int64) {
	seen := make(map[string]bool)
	for i := range sampleSize {
		from := ""
		if i > 0 { // anywhere
			from = "/" + string(rune('!'+rand.IntN('~'-'!'))) + string(rune('!'+rand.IntN('~'-'!')))
		}
		for r, err := range s.set.Resources(ctx, resourcesync.Range{From: from}) {
			if err != nil {
				break
			}
			if seen[r.Key] && len(seen) < sampleSize {
				continue
			}
			u, err := url.Parse(r.URI)
			if err != nil || seen[r.Key] {
				break
			}
			seen[r.Key] = true
			p := &page{key: r.Key, uri: u}
			stranger, err := s.request(ctx, p)
			if err != nil {
				break
			}
			of++
			if stranger.reason == "" {
				break
			}
			itself, err := s.request(context.WithValue(ctx, asItself{}, true), p)
			if err == nil && itself.reason == "" {
				refused++
			}
			break
		}
	}
	return of, refused
}
