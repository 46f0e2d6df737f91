package resourcesync

import "time"

// A ChangeType is the nature of a change: the value of the change attribute
// (section 7).
type ChangeType string

// The three natures of a change.
const (
	Created ChangeType = "created"
	Updated ChangeType = "updated"
	Deleted ChangeType = "deleted"
)

// A Change is one event in the life of a set: an entry of a Change List
// (section 12.1).
type Change struct {
	// Type says what happened.
	Type ChangeType

	// Datetime is when the change happened, or became known: the datetime
	// attribute of its entry. It is mandatory, because Destinations read on
	// from the last one they have seen. A journal of ours numbers changes by
	// strictly increasing datetimes in steps of at least a microsecond.
	Datetime time.Time

	// Resource is the resource as the change left it. Of a deleted one, Key
	// and URI are enough.
	Resource Resource
}

// An Interval is a span of time that excludes From and includes Until, as from and
// until do in documents (sections 7 and 12.1). Successive intervals meet: the From
// of one is the Until of the one before, so every change is in exactly one. The zero
// value is all of time.
type Interval struct {
	From  time.Time // zero: since ever
	Until time.Time // zero: still open
}

// Contains reports whether t is in iv.
func (iv Interval) Contains(t time.Time) bool {
	return (iv.From.IsZero() || t.After(iv.From)) && (iv.Until.IsZero() || !t.After(iv.Until))
}

// Open reports whether iv has no end yet.
func (iv Interval) Open() bool { return iv.Until.IsZero() }
