package topic

import (
	"context"
	"errors"
	"time"
)

// ErrMoved says that a notification was not added to an outbox because it does not
// begin where the one before it ends: another process has added one meanwhile.
var ErrMoved = errors.New("topic: another notification was added meanwhile")

// An Outbox keeps notifications until every hub has taken them, and what is
// needed to make the next ones. All methods are safe for concurrent use, by
// several processes if the outbox is that of several. Topics that have not been
// seen before need no preparation.
//
// An outbox is that of one Source, in however many processes: whoever leads it
// publishes all of its topics. A database of several Sources has one for each.
type Outbox interface {
	// State returns where a topic stands. It is zero for a topic that has never
	// been begun.
	State(ctx context.Context, topic string) (State, error)

	// Begin sets the state of a topic that has none yet, without a notification,
	// and returns the one that holds then: before, if another process was
	// quicker.
	Begin(ctx context.Context, topic string, first State) (State, error)

	// Add appends n to the notifications of its topic and moves the state of the
	// topic to next, in one transaction. before is the state that n was made
	// from; if it is no longer the topic's, nothing is done and the error is
	// ErrMoved. n.Number is ignored; the number given is next.Number, which is
	// before.Number+1.
	Add(ctx context.Context, n Notification, before, next State) error

	// Notifications returns those of a topic with numbers greater than after, in
	// order, at most max of them.
	Notifications(ctx context.Context, topic string, after int64, max int) ([]Notification, error)

	// Queue returns how far a hub has come with a topic. It is made at the first
	// call: a new hub begins after the newest notification there is.
	Queue(ctx context.Context, topic, hub string) (Queue, error)

	// Save stores q.
	Save(ctx context.Context, q Queue) error

	// Queues returns all queues, of hubs that are not used any more as well, in
	// the order of their topics and hubs.
	Queues(ctx context.Context) ([]Queue, error)

	// Clear drops notifications that every queue of their topic has taken, and
	// those made before the time given, except the newest of each topic. What a
	// hub has lost by it, its sender sees by the numbers that are missing.
	//
	// used has the topics that are in use, each with its hubs. Clear forgets
	// other topics, and all that is theirs, once they have not been in use since
	// before; such a topic can begin anew. It forgets other queues once they
	// have not been in use since idle. A topic or queue is in use when it is
	// made and when Clear is told so; that is remembered to the hour.
	Clear(ctx context.Context, used map[string][]string, before, idle time.Time) error

	// Lead runs f while no other process runs one for this outbox, and reports
	// whether it could. When the process can no longer be sure to be alone, f's
	// context ends.
	Lead(ctx context.Context, f func(ctx context.Context) error) (bool, error)

	// Watch calls wake, once to begin with and whenever a notification may have
	// been added, in whatever process, until ctx is done or watching fails. wake
	// returns at once.
	Watch(ctx context.Context, wake func()) error
}

// A State is where a topic stands: what its next notification begins with.
type State struct {
	// Number is that of the newest notification, 0 before the first.
	Number int64

	// Until is where the next Change Notification begins: the Until of the one
	// before it. In the first state of a topic it is when the channel began.
	Until time.Time

	// Documents is what the newest Framework Notification knew of the documents,
	// in words of whoever watches them. It is at most 64 KiB long.
	Documents string
}

// A Queue is how far one hub has come with the notifications of one topic.
type Queue struct {
	Topic, Hub string

	// Taken is the number of the newest notification that the hub has taken or
	// refused, or that was given up.
	Taken int64

	// Failures counts the attempts to send the next notification that have
	// failed; FailingSince is when the first of them was. LastError is what went
	// wrong last, fit for operators. Retry is when to try again.
	Failures     int
	FailingSince time.Time
	LastError    string
	Retry        time.Time

	// Refused counts the notifications that the hub has refused for good, and
	// Lost those that retention has dropped before the hub took them. The
	// newest refusal was that of LastRefused, for the reason RefusedError.
	Refused, Lost int64
	LastRefused   int64
	RefusedError  string
}

// A RefusedError says that a hub will never take a notification, and why.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "refused: " + e.Reason }
