// Package guard decides whether the deletions that a scan has found are published or
// held. A folder that is not mounted, or a program gone wrong, looks exactly like a
// site that has deleted its resources: consumers that follow such deletions lose
// their copies. So unusually many deletions are held until an operator confirms
// them, or until no resource has come back for a while.
//
// Net deletions count, deletions less creations, so renaming a folder counts as
// none. They are added up over the scans of the last one to two periods, so that a
// folder that disappears in many small steps is noticed as well. A period is as long
// as deletions are held.
//
// Creations without deletions are a credit, for a rename whose new names are seen
// before the old ones are missed. The credit ends after a few minutes, and covers only
// created resources that still exist: a volume that is mounted and lost again is a
// deletion.
package guard

import "time"

const (
	// defaultMaxDelete is the fraction of a set that may go unconfirmed.
	defaultMaxDelete = 0.25

	// defaultHold is how long deletions are held.
	defaultHold = time.Hour

	// creditPeriod is how long creations can balance later deletions, at least;
	// it is at most twice as long.
	creditPeriod = 5 * time.Minute

	// Few net deletions are never too many, unless nothing is left: in a small
	// set they are a large fraction.
	Few = 2
)

// Limits say how many deletions are too many.
type Limits struct {
	maxDelete float64
	hold      time.Duration // 0: until they are confirmed
}

// NewLimits returns the limits for a fraction of a set (0: the default; 1 or more:
// any number may go; negative: none may), and for the time after which deletions
// are published all the same (0: the default; negative: never).
func NewLimits(maxDelete float64, hold time.Duration) Limits {
	l := Limits{maxDelete, max(hold, 0)}
	if maxDelete == 0 {
		l.maxDelete = defaultMaxDelete
	}
	if hold == 0 {
		l.hold = defaultHold
	}
	return l
}

// HoldNothing reports whether any number of deletions may go.
func (l Limits) HoldNothing() bool { return l.maxDelete >= 1 }

// A State is the memory of the guard of a set between scans. The zero value is that
// of a new set. Times are microseconds since 1970.
type State struct {
	Net, Earlier int64 // deletions less creations, of this period and of the one before; a negative sum is a credit
	Period       int64 // when this period began; 0 if Net and Earlier are 0

	Held      int64 // how many deletions are held
	Since     int64 // since when there are such
	Quiet     int64 // since when nothing of it has come back, and few more are missing
	Confirmed int64 // how many of them may be published

	Unreadable int64 // resources that the last scan could not see and has kept
}

// Found is the result of a scan.
type Found struct {
	Begun   int64 // when the scan began
	At      int64 // the time
	Count   int64 // resources in the set, missing ones included
	Created int64 // of these, how many are new
	Missing int64 // of these, how many the listing does not name
	Fresh   int64 // of the missing, how many have changed since [State.CreditSince]
}

// Judge reports whether the deletions of missing resources are held, and returns the
// state after they have been held or published.
func (s State) Judge(l Limits, f Found) (next State, hold bool) {
	if f.Created == f.Count {
		f.Created = 0 // the set was empty: its new resources replace nothing
	}
	s.rotate(l, f.Begun)
	if s.Held > 0 && s.disturbed(f) {
		s.Quiet = f.At
	}
	release := f.Missing <= s.Confirmed || s.Held > 0 && l.hold > 0 && f.At-s.Quiet >= l.hold.Microseconds()
	net := s.net(f)
	switch {
	case f.Missing > 0 && release:
		s.Net, s.Earlier = 0, 0
	case f.Missing > 0 && l.tooMany(net, f.Count-f.Missing):
		if s.Held == 0 {
			s.Since, s.Quiet = f.At, f.At
		}
		s.Held, s.Confirmed = f.Missing, 0
		s.balance(s.Net+s.Earlier-f.Created, f.Begun)
		return s.tidied(), true
	default:
		s.balance(net, f.Begun)
	}
	s.Held, s.Since, s.Quiet, s.Confirmed = 0, 0, 0, 0
	return s.tidied(), false
}

// disturbed reports whether held resources have come back, more than a few others
// have disappeared as well, or nothing is left any more.
func (s *State) disturbed(f Found) bool {
	return f.Missing < s.Held || f.Missing > s.Held+Few || f.Missing > s.Held && f.Missing == f.Count
}

// net returns the net deletions after a scan whose missing resources are deleted.
func (s *State) net(f Found) int64 {
	sum := s.Net + s.Earlier
	if sum < 0 {
		// The credit covers what still exists of the earlier creations.
		sum = -max(0, min(-sum-f.Fresh, f.Count-f.Missing-f.Created))
	}
	return sum + f.Missing - f.Created
}

// balance makes net the sum of the periods. When deletions become a credit, or the
// other way round, a new period begins.
func (s *State) balance(net, now int64) {
	sum := s.Net + s.Earlier
	if (sum < 0) != (net < 0) {
		s.Net, s.Earlier, s.Period = net, 0, now
		return
	}
	s.Net += net - sum
}

// CreditSince returns a time that is not after the creations that can still balance
// deletions, and whether there are any.
func (s State) CreditSince() (since int64, ok bool) {
	since = s.Period
	if s.Earlier < 0 {
		since -= 2 * creditPeriod.Microseconds() // the earlier period began after that
	}
	return since, s.Net+s.Earlier < 0
}

// tooMany reports whether net deletions are too many for a set with that many
// remaining resources.
func (l Limits) tooMany(net, left int64) bool {
	switch {
	case l.HoldNothing():
		return false
	case left == 0, l.maxDelete < 0 && net > 0:
		return true
	}
	return net > Few && float64(net) > l.maxDelete*float64(left+net)
}

// rotate begins a new period if it is time to.
func (s *State) rotate(l Limits, now int64) {
	period := l.hold.Microseconds()
	if period == 0 {
		period = defaultHold.Microseconds()
	}
	earlier := max(s.Net, 0)
	if s.Net+s.Earlier < 0 {
		period, earlier = creditPeriod.Microseconds(), min(s.Net, 0)
	}
	switch elapsed := now - s.Period; {
	case s.Period == 0:
		s.Period = now
	case elapsed >= 2*period:
		s.Net, s.Earlier, s.Period = 0, 0, now
	case elapsed >= period:
		s.Net, s.Earlier, s.Period = 0, earlier, now
	}
}

// tidied returns the state without values that no longer matter, so that an idle set
// has nothing to save.
func (s State) tidied() State {
	if s.Net == 0 && s.Earlier == 0 {
		s.Period = 0
	}
	return s
}

// Until returns when held deletions are published if nothing comes back; 0 means not
// before they are confirmed.
func (s State) Until(l Limits) int64 {
	if s.Held == 0 || l.hold == 0 {
		return 0
	}
	return s.Quiet + l.hold.Microseconds()
}
