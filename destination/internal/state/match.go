package state

import (
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/digest"
)

// A match is the result of comparing an entry with a copy.
type match int

const (
	differs match = iota // it describes another version
	unsure               // it describes the copy, and would describe a later version in the same way
	current              // it describes the copy and no later version
)

// match compares an entry with the copy.
func (r *Resource) match(c *resourcesync.Change) match {
	listed := &c.Resource
	if comparable, same := digest.Compare(r.Hashes, listed.Hashes); comparable {
		if same {
			return current
		}
		return differs
	}
	if n, known := listed.Length.Bytes(); known && n != r.Size {
		return differs
	}
	switch t := listed.LastModified; {
	case t.IsZero(), t.Equal(r.LastMod):
	case r.LastMod.IsZero():
		return unsure // any version of the resource was asked for
	default:
		return differs
	}
	if t := c.Datetime; !t.IsZero() {
		if !t.Equal(r.Datetime) {
			return differs
		}
		return r.settled(t)
	}
	return r.settled(listed.LastModified)
}

// requestedAfter reports whether the copy was requested after a time, by the Date of the answer, which has seconds.
func (r *Resource) requestedAfter(t time.Time) bool { return t.Before(r.Asked.Add(time.Second)) }

// lacksLastMod reports whether an entry describes the copy by its lastmod alone, and no lastmod of the copy is known.
func (r *Resource) lacksLastMod(c *resourcesync.Change) bool {
	return r.LastMod.IsZero() && !c.Resource.LastModified.IsZero() && r.match(c) == unsure
}

// isAsked reports whether only a request shows if the copy has the version of an entry: no
// lastmod of the copy is known, and the copy may have been requested before the lastmod of the
// entry.
func (r *Resource) isAsked(c *resourcesync.Change) bool {
	return c.Resource.LastModified.After(r.Asked) && r.lacksLastMod(c)
}

// canBe reports whether the copy can have the version of an entry that differs from the copy in times only. If it was
// requested after these times, the Source may have listed them later than the version was there. If no lastmod of the
// copy is known, only clocks say that the version is a later one.
func (r *Resource) canBe(c *resourcesync.Change) bool {
	if comparable, _ := digest.Compare(r.Hashes, c.Resource.Hashes); comparable {
		return false
	}
	if n, known := c.Resource.Length.Bytes(); known && n != r.Size {
		return false
	}
	t := latest(c.Resource.LastModified, c.Datetime)
	return !t.IsZero() && r.requestedAfter(t) || !c.Resource.LastModified.IsZero() && r.LastMod.IsZero()
}

// follows reports whether a copy that an entry with a change describes has the content after the
// change: by its hash, or because lastmod shows the change. An older lastmod can also
// belong to the content before the change.
func (r *Resource) follows(p *Staged) bool {
	c := &p.Change
	if comparable, same := digest.Compare(r.Hashes, c.Resource.Hashes); comparable {
		return same
	}
	if c.Datetime.IsZero() {
		return !p.Estimate.IsZero()
	}
	return !c.Resource.LastModified.Before(c.Datetime)
}

// predates reports whether a copy may have been requested before a change that is not a deletion.
// The clocks of changes and responses can differ by MaxMargin.
func (r *Resource) predates(p *Staged) bool {
	return p.Change.Type != resourcesync.Deleted && r.Asked.Before(p.Change.Datetime.Add(MaxMargin))
}

// isAsOf reports whether the last known change of r has the time of c.
func (r *Resource) isAsOf(c *resourcesync.Change) bool {
	return !c.Datetime.IsZero() && c.Datetime.Equal(r.Datetime)
}

// settled returns whether the copy shows all versions with a time: it has been requested when
// that time, in the precision in which it is written, was over.
func (r *Resource) settled(t time.Time) match {
	if !t.IsZero() && (Precision(t) < time.Second || !r.Asked.Before(t.Add(Precision(t)))) {
		return current
	}
	return unsure
}

// Precision returns the unit in which t seems to be written. Finer units than a second are
// assumed not to be shared by two changes of a resource.
func Precision(t time.Time) time.Duration {
	h, m, s := t.Clock()
	switch {
	case t.Nanosecond() != 0:
		return 0
	case s != 0:
		return time.Second
	case h != 0 || m != 0:
		return time.Minute
	}
	return 24 * time.Hour
}

// IsVague reports whether an entry cannot show a change of its resource after a time.
func IsVague(listed *resourcesync.Resource, asked time.Time) bool {
	r := Resource{Asked: asked}
	return len(listed.Hashes) == 0 && r.settled(listed.LastModified) != current
}

// possible returns the time of an earlier change, or zero if it is later than the answer with
// a change at t, which is not: it is wrong, and must not hide what happens now.
func possible(earlier, t, answer time.Time) time.Time {
	if earlier.After(answer) && !t.After(answer) {
		return time.Time{}
	}
	return earlier
}

// DatetimeAfter returns the datetime of r after a change at t: the later one, unless the
// datetime of r is in the future, and so is wrong.
func (r *Resource) DatetimeAfter(t time.Time) time.Time {
	if t.IsZero() || possible(r.Datetime, t, time.Now()).After(t) {
		return r.Datetime
	}
	return t
}
