package pushlog

import "time"

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

// Fail records that an attempt has failed at the time now. wait returns the time until the
// next attempt after this number of failures.
func (c *Cursor) Fail(now time.Time, reason string, wait func(failures int) time.Duration) {
	if c.Failures++; c.Failures == 1 {
		c.FailingSince = now
	}
	c.LastError = reason
	c.Retry = now.Add(wait(c.Failures))
}
