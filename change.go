package resourcesync

import "time"

// A ChangeType is the value of the change attribute (section 7).
type ChangeType string

// The types of changes.
const (
	Created ChangeType = "created"
	Updated ChangeType = "updated"
	Deleted ChangeType = "deleted"
)

// A Change is an entry of a Change List (section 12.1): the creation, update or
// deletion of a resource.
type Change struct {
	// Type says what happened.
	Type ChangeType

	// Datetime is when the change happened, or became known: the datetime
	// attribute of its entry. It is mandatory, because Destinations continue
	// from the last one they have seen. The journals of this module assign
	// strictly increasing datetimes, at least a microsecond apart.
	Datetime time.Time

	// Resource is the resource after the change. A deleted resource needs only
	// its Key and URI.
	Resource Resource
}

// An Interval is a span of time that excludes From and includes Until, as from and
// until do in documents (sections 7 and 12.1). The From of an interval is the Until of
// the previous one, so each change is in exactly one interval. The zero value is all
// of time.
type Interval struct {
	From  time.Time // zero: no beginning
	Until time.Time // zero: open
}

// Contains reports whether t is in iv.
func (iv Interval) Contains(t time.Time) bool {
	return (iv.From.IsZero() || t.After(iv.From)) && (iv.Until.IsZero() || !t.After(iv.Until))
}

// Open reports whether iv has no end yet.
func (iv Interval) Open() bool { return iv.Until.IsZero() }
