package hub

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// A Store keeps what a hub must not forget: messages, subscriptions and how far
// each has come, and requests that await verification. All methods are safe for
// concurrent use, by several processes if the store is that of several.
//
// Several processes share the work by claims. What is claimed is worked on by its
// owner alone, until it is released or a claim has lasted for [ClaimTime] without
// being renewed: then its owner is taken to be dead. Times of claims are those of
// the store, not of the processes.
//
// A store is that of one hub, in however many processes: who claims a subscription
// delivers in the name of the hub. A database of several hubs has one for each.
type Store interface {
	// Publish appends m to the log of its topic and gives it a number. A message
	// of the same topic and ID that is in the log already is not appended again;
	// its number is returned.
	Publish(ctx context.Context, m Message) (number int64, err error)

	// Messages returns the messages of a topic with numbers greater than after,
	// in order: at most max of them, and no more than maxBytes of bodies, unless
	// the first alone is longer.
	Messages(ctx context.Context, topic string, after int64, max, maxBytes int) ([]Message, error)

	// Request keeps a request until it is verified. It takes the place of an
	// earlier one of the same topic and callback, claimed or not, so that what
	// was asked for last is what holds at the end. If limits are exceeded the
	// error is a [*LimitError], and nothing is kept. The store gives it its ID.
	Request(ctx context.Context, r Request, limits Limits) error

	// ClaimRequests claims at most max requests: first the oldest of each client,
	// claimed or not, then the second oldest of each, and so on. So a client with
	// many pending requests does not delay the others. It returns them by ID.
	// Claims of requests are not renewed; they last for [VerifyTime].
	ClaimRequests(ctx context.Context, owner string, max int) ([]Request, error)

	// Apply makes, renews or ends the subscription that r asks for, and drops r.
	// A new subscription begins after the newest message of its topic, and so
	// does one that had expired; a renewed one goes on where it was, and without
	// waiting for its Retry unless it is claimed: the subscriber is there. If r
	// has been replaced meanwhile or is claimed by another owner now, nothing is
	// done and the error is [ErrStale].
	Apply(ctx context.Context, owner string, r Request, expires time.Time) error

	// Drop drops r, as Apply does, without changing any subscription.
	Drop(ctx context.Context, owner string, r Request) error

	// Claim claims at most max subscriptions that have not expired, whose Retry
	// has come, and that have not taken the newest message of their topic;
	// those first that have waited longest, since their Retry or since the
	// message they need was published.
	Claim(ctx context.Context, owner string, max int) ([]Subscription, error)

	// Save stores how far subscriptions have come, in one transaction, and
	// renews their claims, or releases those with Release set, or ends those
	// with End set for good. It returns the IDs of those that had ended before or
	// that owner has no claim to any more, which are left as they are, and of
	// those that have been changed by a Request since they were claimed. A
	// changed one is stored and released, and never ended: to be claimed anew,
	// with its new secret and lease.
	Save(ctx context.Context, owner string, progress []Progress) (lost []int64, err error)

	// End ends a subscription for good, whoever has claimed it.
	End(ctx context.Context, id int64) error

	// Subscriptions yields all subscriptions, by ID.
	Subscriptions(ctx context.Context) iter.Seq2[Subscription, error]

	// Clear removes subscriptions that have expired, requests older than
	// an hour, and messages that every subscription of their topic has taken, as
	// well as those published before the time given; but never the newest message
	// of a topic, and none published in the last hour, so that a message
	// published twice is recognised. It returns what it has removed that somebody
	// had not taken, once for each topic, if there is an error as well.
	Clear(ctx context.Context, before time.Time) ([]Dropped, error)

	// Watch calls wake, once to begin with and whenever there may be something
	// new to claim, in whatever process it arose, until ctx is done or watching
	// fails. wake returns at once. Time wakes nobody: that a Retry has come, or
	// that a claim has ended, is for the caller to look after.
	Watch(ctx context.Context, wake func()) error
}

// ClaimTime is how long a claim lasts that is not renewed.
const ClaimTime = 3 * time.Second

// VerifyTime is how long a claim of a request lasts.
const VerifyTime = 30 * time.Second

// ErrStale says that a request is no longer what its owner has claimed.
var ErrStale = errors.New("hub: the request has been replaced meanwhile")

// A Message is what is delivered to every subscription of a topic.
type Message struct {
	Topic       string
	Number      int64  // in the log of the topic, rising but not without gaps
	ID          string // of the topic and the content; the store keeps it unique in a topic
	ContentType string
	Links       string // the value of the Link header, without the link to the hub
	Body        []byte
	Published   time.Time
}

// A Dropped says which messages of a topic were removed before every subscription had
// taken them. What was on its way at that moment may have arrived nevertheless.
type Dropped struct {
	Topic         string
	Messages      int // that were not taken by all
	Subscriptions int // that had not taken all of them
	Deliveries    int // that are not made: of each message, to each subscription
}

// A Request asks to subscribe or to unsubscribe. Nothing of it holds before it has
// been verified with the subscriber.
type Request struct {
	ID       int64
	Topic    string
	Callback string
	Host     string // of the callback, as limits count it: without a port
	Client   string // the address that the request came from
	End      bool   // unsubscribe
	Secret   []byte
	Lease    time.Duration
	Made     time.Time
}

// A Subscription is a callback that takes the messages of a topic.
type Subscription struct {
	ID       int64
	Topic    string
	Callback string
	Host     string // as in Request
	Secret   []byte // nil for none
	Made     time.Time
	Expires  time.Time
	Progress Progress
}

// Progress is how far a subscription has come.
type Progress struct {
	ID int64 // of the subscription

	// Taken is the number of the newest message that was delivered or given up.
	Taken int64

	// Failures counts the attempts to deliver the next message that have failed;
	// FailingSince is when the first of them was, LastError what went wrong
	// last, without anything of the callback's query. Retry is when to try
	// again.
	Failures     int
	FailingSince time.Time
	LastError    string
	Retry        time.Time

	// Delivered and GivenUp count messages since the subscription was made.
	// LastGivenUp is the number of the newest message that was given up.
	Delivered, GivenUp int64
	LastGivenUp        int64

	// Release says to Save that the owner has no more to do with it for now, End
	// that the subscription, as it was claimed, is to end. A store keeps neither.
	Release, End bool
}

// Limits bound what strangers can make a store keep. Zero is no limit. What a
// request takes the place of is not counted; Host, Client and Topic do not bound
// requests about a subscription that there is already. All ports of a name or of
// an IPv4 address are one host, and so are all IPv6 addresses with the same first
// 64 bits.
type Limits struct {
	Host          int // subscriptions and requests of one callback host
	HostPending   int // requests that await verification, of one callback host
	Client        int // subscriptions and requests of one client address
	ClientPending int // requests that await verification, of one client address
	Topic         int // subscriptions and requests of one topic
	Pending       int // requests that await verification, in all
}

// A LimitError says which limit a request would have exceeded.
type LimitError struct {
	What string // by the fields of Limits: "host", "host pending", "client", "client pending", "topic" or "pending"
	Max  int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("hub: the limit %q of %d is reached", e.What, e.Max)
}
