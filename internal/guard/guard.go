// Package guard decides whether to publish or hold the deletions that a scan has found.
// An unmounted folder or a broken program looks exactly like a site that has deleted its
// resources, and Destinations that follow the deletions lose their copies. So unusually
// many deletions are held until an operator confirms them, or until no resource has come
// back for a while.
//
// The guard counts net deletions, deletions less creations, so that a renamed folder
// counts as none. It adds them up over the scans of the last one to two periods, so that
// it notices a folder that disappears in many small steps. A period is as long as
// deletions are held.
//
// Creations without deletions are a credit, for a rename whose new names are found
// before the old ones are missing. The credit expires after a few minutes, and covers
// only created resources that still exist: losing a volume that was just mounted is a
// deletion.
package guard

import "time"

const (
	// defaultMaxDelete is the fraction of a set that may be deleted without
	// confirmation.
	defaultMaxDelete = 0.25

	// defaultHold is the time for which deletions are held.
	defaultHold = time.Hour

	// creditPeriod is the minimum time for which creations can balance later
	// deletions. The maximum is twice as long.
	creditPeriod = 5 * time.Minute

	// Few is the number of net deletions that are never too many, unless nothing
	// is left: in a small set they are a large fraction.
	Few = 2
)

// Limits determine how many deletions are too many.
type Limits struct {
	maxDelete float64
	hold      time.Duration // 0: until they are confirmed
}

// NewLimits returns limits. maxDelete is the fraction of a set that may be deleted
// without confirmation (0: the default; 1 or more: no limit; negative: none). hold is the
// time after which held deletions are published without confirmation (0: the default;
// negative: never).
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

// HoldNothing reports whether any number of deletions is published.
func (l Limits) HoldNothing() bool { return l.maxDelete >= 1 }

// A State is the state of the guard of a set between scans. The zero value belongs to a new
// set. Times are microseconds since 1970.
type State struct {
	Net, Earlier int64 // net deletions of this period and of the previous one; a negative sum is a credit
	Period       int64 // the beginning of this period; 0 if Net and Earlier are 0

	Held      int64 // the number of held deletions
	Since     int64 // the time since when deletions are held
	Quiet     int64 // the time since when no resource has come back and few more are missing
	Confirmed int64 // the number of held deletions that may be published

	Unreadable int64 // resources that the last scan could not read and has kept
}

// Found is the result of a scan.
type Found struct {
	Begun   int64 // the beginning of the scan
	At      int64 // the current time
	Count   int64 // resources in the set that the scan has found or missed
	Created int64 // new resources among these
	Missing int64 // resources among these that the listing lacks
	Fresh   int64 // missing resources that have changed since [State.CreditSince]
}

// Judge reports whether to hold the deletions of the missing resources, and returns the
// state after they have been held or published.
func (s State) Judge(l Limits, f Found) (next State, hold bool) {
	if f.Created == f.Count {
		f.Created = 0 // the set was empty, so its new resources replace nothing
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

// JudgePart is like Judge, for a scan of a part of the set. While deletions are held, it
// also holds the deletions of the part: only a scan of the whole set shows what else is
// missing.
func (s State) JudgePart(l Limits, f Found) (next State, hold bool) {
	if s.Held == 0 {
		return s.Judge(l, f)
	}
	s.rotate(l, f.Begun)
	s.balance(s.Net+s.Earlier-f.Created, f.Begun)
	return s.tidied(), f.Missing > 0
}

// disturbed reports whether held resources have come back, more than a few others are
// missing as well, or nothing is left.
func (s *State) disturbed(f Found) bool {
	return f.Missing < s.Held || f.Missing > s.Held+Few || f.Missing > s.Held && f.Missing == f.Count
}

// net returns the net deletions after a scan whose missing resources are deleted.
func (s *State) net(f Found) int64 {
	sum := s.Net + s.Earlier
	if sum < 0 {
		// The credit covers earlier creations that still exist.
		sum = -max(0, min(-sum-f.Fresh, f.Count-f.Missing-f.Created))
	}
	return sum + f.Missing - f.Created
}

// balance makes net the sum of the periods. When deletions become a credit, or vice
// versa, a new period begins.
func (s *State) balance(net, now int64) {
	sum := s.Net + s.Earlier
	if (sum < 0) != (net < 0) {
		s.Net, s.Earlier, s.Period = net, 0, now
		return
	}
	s.Net += net - sum
}

// CreditSince returns a time before all creations that can still balance deletions, and
// reports whether there are any.
func (s State) CreditSince() (since int64, ok bool) {
	since = s.Period
	if s.Earlier < 0 {
		since -= 2 * creditPeriod.Microseconds() // the earlier period began later
	}
	return since, s.Net+s.Earlier < 0
}

// tooMany reports whether net deletions are too many for a set with left remaining
// resources.
func (l Limits) tooMany(net, left int64) bool {
	switch {
	case l.HoldNothing():
		return false
	case left == 0, l.maxDelete < 0 && net > 0:
		return true
	}
	return net > Few && float64(net) > l.maxDelete*float64(left+net)
}

// rotate begins a new period if the current one has ended.
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

// tidied returns the state without irrelevant values, so that the state of an idle set
// does not change.
func (s State) tidied() State {
	if s.Net == 0 && s.Earlier == 0 {
		s.Period = 0
	}
	return s
}

// Until returns the time at which held deletions are published if nothing comes back, or
// 0 if they must be confirmed.
func (s State) Until(l Limits) int64 {
	if s.Held == 0 || l.hold == 0 {
		return 0
	}
	return s.Quiet + l.hold.Microseconds()
}
