package pushlog

import (
	"errors"
	"fmt"
	"time"
)

// ClaimTime is the duration of a claim of a subscription that is not renewed.
const ClaimTime = 3 * time.Second

// VerifyTime is the duration of a claim of a request.
const VerifyTime = 30 * time.Second

// ErrStale reports that a request has been replaced, or claimed by another owner.
var ErrStale = errors.New("hub: the request has been replaced meanwhile")

// A Dropped counts the notifications of a topic that were removed before every
// subscription had taken them. A notification that was being sent at that moment may
// have arrived.
type Dropped struct {
	Topic         string
	Messages      int // notifications that some subscription had not taken
	Subscriptions int // subscriptions that had not taken all of them
	Deliveries    int // pairs of a notification and a subscription that had not taken it
}

// A Request asks to subscribe or to unsubscribe. It has no effect before the
// subscriber has confirmed it.
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

// A Subscription is a callback that takes the notifications of a topic.
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

// Progress is the cursor of a subscription.
type Progress struct {
	ID int64 // of the subscription

	// LastError contains no part of the callback's query, which may be a secret.
	Cursor

	// RefusedSince is the time since which every attempt to send the next
	// notification was answered with a refusal, a 4xx that another attempt will
	// hardly change. It is zero if the last attempt had another result.
	RefusedSince time.Time

	// Delivered and GivenUp count notifications since the subscription was made.
	// LastGivenUp is the number of the newest one that was given up, and LastDelivered the
	// time at which the newest one was accepted, or zero.
	Delivered, GivenUp int64
	LastGivenUp        int64
	LastDelivered      time.Time

	// Release makes Save release the claim. End makes Save end the subscription,
	// unless a Request has changed it since it was claimed. A store keeps neither.
	Release, End bool
}

// Pass moves p past the notification with this number.
func (p *Progress) Pass(number int64) {
	p.Cursor.Pass(number)
	p.RefusedSince = time.Time{}
}

// Limits limit the data that anonymous clients can make a store keep. Zero means no
// limit. A request that replaces an earlier one counts once. Host, Client and Topic do not limit
// requests about existing subscriptions.
type Limits struct {
	Host          int // subscriptions and requests of one callback host
	HostPending   int // requests that await verification, of one callback host
	Client        int // subscriptions and requests of one client address
	ClientPending int // requests that await verification, of one client address
	Topic         int // subscriptions and requests of one topic
	Pending       int // requests that await verification, in all
}

// A LimitError names the limit that a request would have exceeded.
type LimitError struct {
	What string // by the fields of Limits: "host", "host pending", "client", "client pending", "topic" or "pending"
	Max  int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("hub: the limit %q of %d is reached", e.What, e.Max)
}

// A Cursor is the position of a hub or a subscriber in the notifications of a topic.
type Cursor struct {
	// Taken is the number of the newest notification that was accepted, refused or
	// given up.
	Taken int64

	// Failures counts the failed attempts to send the next notification, and
	// FailingSince is the time of the first. LastError is the last error, without
	// secrets. Retry is the time of the next attempt.
	Failures     int
	FailingSince time.Time
	LastError    string
	Retry        time.Time
}

// Pass moves c past the notification with this number.
func (c *Cursor) Pass(number int64) { *c = Cursor{Taken: number} }

// Fail records that an attempt has failed at the time now. The caller sets Retry.
func (c *Cursor) Fail(now time.Time, reason string) {
	if c.Failures++; c.Failures == 1 {
		c.FailingSince = now
	}
	c.LastError = reason
}
