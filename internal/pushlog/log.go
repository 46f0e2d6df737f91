// Package pushlog is the log of a Source's notifications. A notification is
// appended once. Remote hubs, the subscribers of the Source's own hub and
// WebSocket clients each read it from their own cursor.
package pushlog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// ErrMoved reports that a notification was not appended because it does not begin
// where the newest one ends: another process has appended one meanwhile.
var ErrMoved = errors.New("topic: another notification was added meanwhile")

// A Log keeps the notifications and states of topics, and the cursors of hubs and
// subscribers. All methods are safe for concurrent use, also by several processes if
// they share the log. A topic is created by its first use.
//
// A log belongs to one Source, which may run in several processes: the process that
// leads the log publishes all of its topics. A database of several Sources has one log
// for each.
type Log interface {
	// State returns the state of a topic. It is zero for a topic that has not
	// begun, and for no other.
	State(ctx context.Context, topic string) (State, error)

	// Topics returns all topics of the log, in no order.
	Topics(ctx context.Context) ([]string, error)

	// Begin sets the state of a topic that has not begun, without a notification.
	// It returns the state of the topic, which another process may have set.
	Begin(ctx context.Context, topic string, first State) (State, error)

	// Append appends n to its topic and sets the state of the topic to next, in
	// one transaction. before is the state that n was made from. If the topic has
	// another state now, Append does nothing and returns ErrMoved. Append ignores
	// n.Number and n.Made: the number is next.Number, which must be
	// before.Number+1.
	Append(ctx context.Context, n Notification, before, next State) error

	// Read returns the notifications of a topic with numbers greater than after,
	// in order: at most max of them, and no more than maxBytes of bodies unless
	// the first alone is longer.
	Read(ctx context.Context, topic string, after int64, max, maxBytes int) ([]Notification, error)

	// Clear removes notifications that every cursor of their topic has passed,
	// and those appended before the time given, but never the newest of a topic.
	// It reports those that subscribers had not taken, once for each topic, even
	// if it returns an error. The sender to a hub detects lost notifications by
	// their missing numbers.
	//
	// used has the topics that are in use, each with its hubs. Clear removes a
	// topic, with its notifications and cursors, if it has not been in use since
	// before and has no subscriptions. Such a topic can start over. Clear removes
	// the cursor of a hub if it has not been in use since idle. A topic or cursor
	// is in use when it is created and when Clear finds it in used. The time of
	// that is recorded to the hour.
	Clear(ctx context.Context, used map[string][]string, before, idle time.Time) ([]Dropped, error)

	// Lead runs f unless another process leads this log, and reports whether it
	// ran f. The context of f ends when the process may have lost the lead.
	Lead(ctx context.Context, f func(ctx context.Context) error) (bool, error)

	// Watch calls wake once at first, and then whenever a notification may have
	// been appended, or a subscription or request can newly be claimed, by any
	// process, until ctx is done or watching fails. wake must not block. Watch
	// does not report that a retry is due or a claim has ended: callers watch
	// the time themselves.
	Watch(ctx context.Context, wake func()) error

	HubCursors
	Subscriptions
}

// HubCursors are the cursors of remote hubs. The process that leads the log moves
// them.
type HubCursors interface {
	// HubCursor returns the cursor of a hub in a topic. The first call makes it:
	// a new hub begins after the newest notification.
	HubCursor(ctx context.Context, topic, hub string) (HubCursor, error)

	// SaveHubCursor stores c.
	SaveHubCursor(ctx context.Context, c HubCursor) error

	// AllHubCursors returns all cursors, including those of hubs that are no
	// longer used, ordered by topic and hub.
	AllHubCursors(ctx context.Context) ([]HubCursor, error)
}

// Subscriptions are the cursors of subscribers, and the requests for them.
//
// Several processes share the work by claims. Only the owner of a claim works on the
// subscription or request, until it releases the claim. A claim ends if it is not
// renewed for [ClaimTime]: its owner is assumed to have died. The clock of the store
// measures this time, not the clocks of the processes.
type Subscriptions interface {
	// Request keeps a request until it is verified. It replaces an earlier one of
	// the same topic and callback, claimed or not, so that the last request
	// holds. A request to subscribe has the number of the newest notification of the topic,
	// or of the request to subscribe that it replaces: the subscriber may have confirmed that
	// one. If it would exceed limits, nothing is kept and the error is a
	// [*LimitError]. The store assigns the ID.
	Request(ctx context.Context, r Request, limits Limits) error

	// ClaimRequests claims at most max requests: first the oldest of each client,
	// claimed or not, then the second oldest of each, and so on. So a client with
	// many pending requests does not delay the others. It returns them by ID.
	// Claims of requests are not renewed; they last for [VerifyTime].
	ClaimRequests(ctx context.Context, owner string, max int) ([]Request, error)

	// Apply makes, renews or ends the subscription that r requests, and drops r. A new
	// subscription begins after the number of its request, and so does one that had
	// expired: a subscriber misses no notification that is appended after it has
	// confirmed. A renewed one keeps its cursor. Unless it is claimed, its Retry is
	// cleared, because the subscriber has just answered. If r has been replaced or
	// is claimed by another owner, Apply does nothing and returns [ErrStale].
	Apply(ctx context.Context, owner string, r Request, expires time.Time) error

	// Drop drops r, as Apply does, without changing any subscription.
	Drop(ctx context.Context, owner string, r Request) error

	// Claim claims at most max subscriptions that have not expired, whose Retry
	// has passed, and that have not taken the newest notification of their topic.
	// It prefers those that have waited longest, since their Retry or since the
	// notification that they need was appended, whichever is later.
	Claim(ctx context.Context, owner string, max int) ([]Subscription, error)

	// Save stores progress in one transaction. It renews the claims, except that
	// it releases claims with Release set, and ends subscriptions with End set.
	// lost has the IDs of subscriptions that have ended or that owner no longer
	// has a claim to, which Save does not change. It also has those that a
	// Request has changed since they were claimed. Save stores and releases
	// these, and never ends them: the next claim returns the new secret and
	// lease.
	Save(ctx context.Context, owner string, progress []Progress) (lost []int64, err error)

	// End ends a subscription permanently, even if it is claimed.
	End(ctx context.Context, id int64) error

	// Subscriptions yields all subscriptions, by ID.
	Subscriptions(ctx context.Context) iter.Seq2[Subscription, error]

	// Expire removes subscriptions that have expired, and requests older than an
	// hour.
	Expire(ctx context.Context) error
}

// A Notification is a Change Notification or a Framework Notification: a document
// and the topic it belongs to.
type Notification struct {
	// Topic is the topic URI of the channel.
	Topic string

	// Number counts the notifications of a topic, from 1. The log assigns it.
	Number int64

	// Made is when the notification was appended, by the clock of the store.
	Made time.Time

	// From and Until are the interval of a Change Notification: it covers every
	// change with From < datetime <= Until, and its successor begins at Until.
	// Both are zero in a Framework Notification.
	From, Until time.Time

	// CapabilityList is the URI of the Capability List of the set, sent as a
	// link with the relation type resourcesync.
	CapabilityList string

	// Body is the document. Once appended it never changes.
	Body []byte
}

// A State is the state of a topic, from which its next notification is made.
type State struct {
	// Number is the number of the newest notification, 0 before the first.
	Number int64

	// Until is the time at which the next Change Notification begins: the Until of
	// the one before it. In the first state of a topic, it is the time at which the
	// channel began.
	Until time.Time

	// Documents is the state of the documents at the newest Framework Notification,
	// encoded by the channel. It has at most 64 KiB.
	Documents string
}

// Equal reports whether s and other are the same state.
func (s State) Equal(other State) bool {
	return s.Number == other.Number && s.Until.Equal(other.Until) && s.Documents == other.Documents
}

// CheckAppend returns an error unless next can come after before.
func CheckAppend(before, next State) error {
	switch {
	case next.Number != before.Number+1:
		return fmt.Errorf("topic: notification %d cannot come after notification %d", next.Number, before.Number)
	case len(next.Documents) > maxDocuments:
		return fmt.Errorf("topic: State.Documents: %d bytes, limit %d", len(next.Documents), maxDocuments)
	}
	return nil
}

const maxDocuments = 64 << 10

// A HubCursor is the cursor of a remote hub in a topic.
type HubCursor struct {
	Topic, Hub string
	Cursor

	// Refused counts the notifications that the hub has refused permanently, and
	// Lost those that retention has dropped before the hub took them.
	// LastRefused is the number of the newest refused one, and RefusedError the
	// reason.
	Refused, Lost int64
	LastRefused   int64
	RefusedError  string
}
