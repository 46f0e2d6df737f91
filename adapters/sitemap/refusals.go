package sitemap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/scan"
)

// refusalPoll is the interval at which the record of refusals is read.
const refusalPoll = 2 * time.Second

// refusals records that the website refuses strangers some pages, so that all processes
// with the set agree, including one that confirms. It is the only origin of the set of
// withheld pages.
type refusals struct {
	Withdrawn int64     `json:"withdrawn,omitempty"` // an upper bound of the pages that left the lists before the set was hidden
	Hidden    bool      `json:"hidden,omitempty"`    // the set is not shown, by any process
	Refused   int64     `json:"refused,omitempty"`   // why it is hidden, as in a StrangerError
	Of        int64     `json:"of,omitempty"`        // the size of the sample; 0 if there was none
	Confirmed time.Time `json:"confirmed,omitzero"`  // when the operator confirmed that the pages are private
}

func readRefusals(ctx context.Context, withheld scan.Stored) (r refusals, err error) {
	text, err := withheld.Origin(ctx)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &r)
	}
	if err != nil {
		return r, fmt.Errorf("sitemap: the record of refused pages: %w", err)
	}
	return r, nil
}

func (r refusals) record(ctx context.Context, withheld scan.Stored) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return withheld.SetOrigin(ctx, string(text))
}

// reason returns the reason why a set is hidden.
func (r refusals) reason() *StrangerError {
	return &StrangerError{Sample: r.Of > 0, Refused: r.Refused, Of: r.Of}
}

// ConfirmRefusals confirms that the pages of a hidden set which the website refuses strangers are
// private, and reports whether the set is hidden. withheld is the further set that [Site.Bind]
// opens: for a set NAME, scan.Into opens "withheld NAME". Within seconds, the processes that run a
// Site with the set show it again. The pages leave the lists as they are requested, and a scan
// publishes their deletions.
func ConfirmRefusals(ctx context.Context, withheld scan.Stored) (hidden bool, err error) {
	r, err := readRefusals(ctx, withheld)
	if err != nil {
		return false, err
	}
	return r.confirm(ctx, withheld)
}

func (r refusals) confirm(ctx context.Context, withheld scan.Stored) (hidden bool, err error) {
	if !r.Hidden {
		return false, nil
	}
	return true, refusals{Withdrawn: r.Withdrawn, Confirmed: time.Now()}.record(ctx, withheld)
}

// ConfirmRefusals is the function of this name for the set of s.
func (s *Site) ConfirmRefusals(ctx context.Context) (hidden bool, err error) {
	if s.set == nil {
		return false, errUnbound
	}
	s.follows.mu.Lock()
	defer s.follows.mu.Unlock()
	r, err := readRefusals(ctx, s.withheld)
	if err != nil {
		return false, err
	}
	if reason, hidden := errors.AsType[*StrangerError](s.Hidden()); hidden && !r.Hidden && r.Confirmed.IsZero() {
		if r, err = s.hiddenBy(ctx, reason); err != nil { // not recorded yet
			return false, err
		}
	}
	return r.confirm(ctx, s.withheld)
}

// hiddenBy returns the record of a set that this process has hidden.
func (s *Site) hiddenBy(ctx context.Context, e *StrangerError) (r refusals, err error) {
	r = refusals{Hidden: true, Refused: e.Refused, Of: e.Of}
	r.Withdrawn, err = s.mayRefuse(ctx)
	return r, err
}

// mayRefuse returns how many of the listed pages the website may refuse a stranger.
func (s *Site) mayRefuse(ctx context.Context) (int64, error) {
	if s.options.MaxRefuse >= 1 || s.confirmed.Load() {
		return math.MaxInt64, nil
	}
	st, err := s.set.Stat(ctx, resourcesync.Range{})
	return max(guard.Few, int64(s.options.MaxRefuse*float64(st.Count))), err
}

// A following is a Site's knowledge of the record of refusals.
type following struct {
	mu       sync.Mutex
	recorded bool // the state said that the set is hidden

	// After a confirmation: when the set was shown again, and when all pages had been requested
	// since.
	shownSince, visited time.Time

	counted  time.Time     // when the withheld pages were last counted
	counting time.Duration // how long that took

	round chan error // the end of a round of visits if Revisit is negative; nil if there is none
}

// restoreRefusal hides the set if the state says so, and follows a confirmation that was given while
// no process was running.
func (s *Site) restoreRefusal(ctx context.Context) error {
	r, err := readRefusals(ctx, s.withheld)
	if err != nil {
		return err
	}
	s.confirmed.Store(!r.Confirmed.IsZero())
	if s.follows.recorded = r.Hidden; r.Hidden {
		s.setHidden(r.reason())
	}
	return nil
}

// followRefusals records whether the set is hidden, and follows a confirmation and what other
// processes record, until ctx is done.
func (s *Site) followRefusals(ctx context.Context) {
	var known refusals // in the state
	failed := false
	for first := true; ; first = false {
		if first || s.judges() || known != (refusals{}) {
			var err error
			if known, err = s.followRefusal(ctx); err != nil && !failed && ctx.Err() == nil {
				s.log.Warn("it is not known whether deletions were confirmed", "error", err)
			}
			failed = err != nil
		}
		if background.Sleep(ctx, refusalPoll) != nil {
			break
		}
	}
	f := &s.follows
	f.mu.Lock()
	round, recorded := f.round, f.recorded
	f.mu.Unlock()
	if round != nil {
		<-round
	}
	if hidden := s.Hidden() != nil; hidden == recorded {
		return
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), refusalPoll)
	defer cancel()
	if _, err := s.followRefusal(ending); err != nil { // the next process shows the set until it finds out itself
		s.log.Warn("it is not recorded whether the set is hidden", "error", err)
	}
}

func (s *Site) followRefusal(ctx context.Context) (known refusals, err error) {
	f := &s.follows
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, err = readRefusals(ctx, s.withheld); err != nil {
		return known, err
	}
	s.confirmed.Store(!known.Confirmed.IsZero())
	next := known
	reason, hidden := errors.AsType[*StrangerError](s.Hidden())
	switch {
	case !known.Confirmed.IsZero():
		done, err := s.followConfirmed(ctx, hidden, known)
		if err != nil {
			return known, err
		}
		if done {
			next = refusals{}
		}
	case hidden && known.Hidden, !hidden && !known.Hidden:
	case hidden && f.recorded: // another process shows it again
		s.setHidden(nil)
	case hidden:
		if next, err = s.hiddenBy(ctx, reason); err != nil {
			return known, err
		}
	case f.recorded, !s.judges(): // this process shows it again
		next = refusals{}
	default: // another process hides it
		s.setHidden(known.reason())
	}
	if next != known {
		err = next.record(ctx, s.withheld)
	}
	if err == nil {
		f.recorded = next.Hidden
	}
	s.confirmed.Store(err == nil && !next.Confirmed.IsZero())
	return next, err
}

// Scanned implements [scan.Observer].
func (s *Site) Scanned(r scan.Result) {
	if r.Err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.scanBegan = r.Ended.Add(-r.Took)
	}
}

// scannedFrom returns when the last complete scan that has succeeded began.
func (s *Site) scannedFrom() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scanBegan
}
