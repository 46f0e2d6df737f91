package pushlog

import "time"

// A Cursor is the position of a hub or a subscriber in the notifications of a topic.
type Cursor struct {
	// Taken is the number of the newest notification that was accepted, refused or
	// given up.
	Taken int64

	// Failures counts the failed attempts to send the next notification, and
	// FailingSince is the time of the first. LastError is the last error, fit for
	// operators. Retry is when to try again.
	Failures     int
	FailingSince time.Time
	LastError    string
	Retry        time.Time
}

// Pass moves c to the notification with the number given.
func (c *Cursor) Pass(number int64) { *c = Cursor{Taken: number} }

// Fail records that an attempt has failed now. wait returns the time until the next one,
// given the number of failures.
func (c *Cursor) Fail(now time.Time, reason string, wait func(failures int) time.Duration) {
	if c.Failures++; c.Failures == 1 {
		c.FailingSince = now
	}
	c.LastError = reason
	c.Retry = now.Add(wait(c.Failures))
}
