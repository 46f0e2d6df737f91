package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

// A refusal is what a state says about pages that the website refuses strangers, so that
// confirm-deletions and the proxy, which may be different processes, agree. It is the origin of the
// set of withheld pages, which has no other.
type refusal struct {
	Withdrawn int64     `json:"withdrawn,omitempty"` // at most so many pages left the lists before the set was hidden
	Hidden    bool      `json:"hidden,omitempty"`    // the set is not shown, by any process
	Refused   int64     `json:"refused,omitempty"`   // why it is hidden, as in a sitemap.StrangerError
	Of        int64     `json:"of,omitempty"`        // the size of the sample; 0 if there was none
	Confirmed time.Time `json:"confirmed,omitzero"`  // when the operator confirmed that the pages are private
}

// releasePoll is the interval at which a hidden set looks for confirmations.
const releasePoll = 2 * time.Second

func readRefusal(ctx context.Context, withheld *sqlstore.Set) (r refusal, err error) {
	text, err := withheld.Origin(ctx)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &r)
	}
	return r, err
}

func (r refusal) record(ctx context.Context, withheld *sqlstore.Set) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return withheld.SetOrigin(ctx, string(text))
}

// withheldName is the name of the set of withheld pages, beside the set with a name.
func withheldName(set string) string { return "withheld " + set }

// confirmRefusals confirms that the pages of a hidden set are private, and reports whether it is
// hidden.
func confirmRefusals(ctx context.Context, st *state, set string) (hidden bool, err error) {
	withheld, err := st.Set(ctx, withheldName(set), nil)
	if err != nil {
		return false, err
	}
	r, err := readRefusal(ctx, withheld)
	if err != nil || !r.Hidden {
		return false, err
	}
	return true, refusal{Withdrawn: r.Withdrawn, Confirmed: time.Now()}.record(ctx, withheld)
}

// restoreRefusal hides the set if the state says so, and follows a confirmation that was given while
// no process was running.
func (s *upstreamSet) restoreRefusal(ctx context.Context) error {
	r, err := readRefusal(ctx, s.withheld)
	if err != nil {
		return err
	}
	s.confirmed.Store(!r.Confirmed.IsZero())
	if s.recorded = r.Hidden; r.Hidden {
		s.pages.SetHidden(r.reason())
	}
	return nil
}

// reason returns the reason why a set is hidden.
func (r refusal) reason() *sitemap.StrangerError {
	return &sitemap.StrangerError{Sample: r.Of > 0, Refused: r.Refused, Of: r.Of}
}

// followRefusals records whether the set is hidden, and follows a confirmation and what other
// processes record, until ctx is done.
func (s *upstreamSet) followRefusals(ctx context.Context) {
	var known refusal // in the state
	failed := false
	shared := s.daemon.state.shared
	for first := true; ; first = false {
		if hidden := s.pages.Hidden() != nil; first || shared || hidden || known != (refusal{}) {
			var err error
			if known, err = s.followRefusal(ctx); err != nil && !failed && ctx.Err() == nil {
				s.log.Warn("it is not known whether deletions were confirmed", "error", err)
			}
			failed = err != nil
		}
		if background.Sleep(ctx, releasePoll) != nil {
			break
		}
	}
	if s.round != nil {
		<-s.round
	}
	if hidden := s.pages.Hidden() != nil; hidden == s.recorded {
		return
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), releasePoll)
	defer cancel()
	if _, err := s.followRefusal(ending); err != nil { // the next process shows the set until it finds out itself
		s.log.Warn("it is not recorded whether the set is hidden", "error", err)
	}
}

func (s *upstreamSet) followRefusal(ctx context.Context) (known refusal, err error) {
	if known, err = readRefusal(ctx, s.withheld); err != nil {
		return known, err
	}
	next := known
	reason, hidden := errors.AsType[*sitemap.StrangerError](s.pages.Hidden())
	switch {
	case !known.Confirmed.IsZero():
		s.confirmed.Store(true)
		done, err := s.followConfirmed(ctx, hidden, known.Withdrawn)
		if err != nil {
			return known, err
		}
		if done {
			next = refusal{}
		}
	case hidden && known.Hidden, !hidden && !known.Hidden:
	case hidden && s.recorded: // another process shows it again
		s.pages.SetHidden(nil)
	case hidden:
		next = refusal{Hidden: true, Refused: reason.Refused, Of: reason.Of}
		if next.Withdrawn, err = s.mayRefuse(ctx); err != nil {
			return known, err
		}
	case s.recorded, s.stranger.Off: // this process shows it again
		next = refusal{}
	default: // another process hides it
		s.pages.SetHidden(known.reason())
	}
	if next != known {
		err = next.record(ctx, s.withheld)
	}
	if err == nil {
		s.recorded = next.Hidden
	}
	s.confirmed.Store(err == nil && !next.Confirmed.IsZero())
	return next, err
}

// followConfirmed confirms held deletions if they are not more than those of pages that the website
// refuses strangers; withdrawn of these left the lists before the set was hidden. It reports whether
// all pages have been requested since the set was shown again, and the deletions published.
func (s *upstreamSet) followConfirmed(ctx context.Context, hidden bool, withdrawn int64) (done bool, err error) {
	if hidden {
		return false, nil
	}
	if s.shownSince.IsZero() {
		s.shownSince = time.Now()
	}
	kept, err := s.set.Kept(ctx)
	if err != nil {
		return false, err
	}
	if kept.Held > 0 && !kept.Confirmed && kept.Held <= s.pages.Status().Refused+withdrawn {
		_, err = s.set.ConfirmDeletions(ctx)
		return false, err
	}
	if s.visited.IsZero() {
		if err := s.followVisits(ctx); err != nil {
			return false, err
		}
	}
	last := s.set.Last()
	if done = !s.visited.IsZero() && !kept.Confirmed && last != nil && last.Err == nil && last.Ended.Add(-last.Took).After(s.visited); done {
		s.shownSince, s.visited = time.Time{}, time.Time{}
	}
	return done, nil
}

// followVisits notes when all pages have been requested since the set was shown again. With
// --revisit 0, it has them requested.
func (s *upstreamSet) followVisits(ctx context.Context) error {
	switch {
	case s.revisit > 0:
		if s.pages.Status().Oldest.After(s.shownSince) {
			s.visited = time.Now()
		}
	case s.round == nil:
		round := make(chan error, 1)
		go func() { round <- s.pages.RevisitAll(ctx) }()
		s.round = round
	default:
		select {
		case err := <-s.round:
			if s.round = nil; err != nil {
				return err
			}
			s.visited = time.Now()
		default:
		}
	}
	return nil
}
