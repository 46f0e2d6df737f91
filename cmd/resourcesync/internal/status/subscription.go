package status

import (
	"cmp"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
)

// A Subscription is one at the built-in hub.
type Subscription struct {
	Host       string                  `json:"host"` // of the callback
	Set        string                  `json:"set,omitempty"`
	Capability resourcesync.Capability `json:"capability"` // of the channel
	Expires    time.Time               `json:"expires"`    // the lease

	// Agent and Address identify the harvester that has requested it. They are empty if that is
	// unknown, such as after a restart.
	Agent   string `json:"agent,omitempty"`
	Address string `json:"address,omitempty"`

	// LastSuccess is the time at which it accepted its newest notification, or zero if that is not
	// known.
	LastSuccess time.Time `json:"lastSuccess,omitzero"`

	Delivered int64 `json:"delivered"`         // notifications that it has accepted
	Pending   int64 `json:"pending"`           // that it has not accepted yet
	GivenUp   int64 `json:"givenUp,omitempty"` // that it will never get

	// Failures counts the failed attempts to deliver the next notification. Next is the time of the
	// next attempt.
	Failures     int       `json:"failures,omitempty"`
	FailingSince time.Time `json:"failingSince,omitzero"`
	LastError    string    `json:"lastError,omitempty"`
	Next         time.Time `json:"next,omitzero"`
}

// A Worst collects the subscriptions that need attention first: those that fail, then those with
// many pending notifications. Its memory does not depend on their number.
type Worst struct{ all []Subscription }

// ShownSubscriptions is the maximum number of subscriptions in a status.
const ShownSubscriptions = 100

// Add adds a subscription.
func (w *Worst) Add(s Subscription) {
	if w.all = append(w.all, s); len(w.all) >= 4*ShownSubscriptions {
		w.all = w.First()
	}
}

// First returns the first ones.
func (w *Worst) First() []Subscription {
	slices.SortStableFunc(w.all, func(a, b Subscription) int {
		return cmp.Or(cmp.Compare(b.Failures, a.Failures), cmp.Compare(b.Pending, a.Pending), cmp.Compare(b.GivenUp, a.GivenUp), cmp.Compare(a.Host, b.Host))
	})
	return w.all[:min(len(w.all), ShownSubscriptions)]
}

// subscriptions returns the table of the subscriptions that need attention first.
func (p *statusPrinter) subscriptions(s *Status) *terminal.Table {
	var t terminal.Table
	t.Header("SUBSCRIBER", "CHANNEL", "LEASE ENDS", "LAST SUCCESS", ">ACCEPTED", ">PENDING", "NEXT ATTEMPT", "ERROR")
	for _, sub := range s.Subscriptions {
		next, last := "", "none yet"
		if !sub.LastSuccess.IsZero() {
			last = humanize.RelTime(sub.LastSuccess, p.now, "ago", "from now")
		} else if sub.Delivered > 0 {
			last = "unknown"
		}
		if sub.Failures > 0 {
			next = humanize.RelTime(sub.Next, p.now, "ago", "from now")
		}
		t.Cells(terminal.Cell{Text: shortened(sub.Host)}, terminal.Cell{Text: channelName(sub.Capability)}, terminal.Cell{Text: humanize.RelTime(sub.Expires, p.now, "ago", "from now")},
			terminal.Cell{Text: last}, terminal.Cell{Text: humanize.Comma(sub.Delivered)}, terminal.Cell{Text: humanize.Comma(sub.Pending)}, terminal.Cell{Text: next}, terminal.Cell{Text: sub.LastError, Style: terminal.Red})
	}
	return &t
}
