package destination

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// A Status describes a copy for operators. It can be served as JSON.
type Status struct {
	Source string `json:"source"` // its URL

	// InSync is the latest time at which the copy is known to have had everything that the Source
	// listed: when the last Sync without a failure read its lists for the last time. Notifications
	// do not move it, because a lost one leaves no trace. It is zero if no Sync of this process has
	// succeeded.
	InSync time.Time `json:"inSync,omitzero"`

	// Behind is the number of known changes that the copy lacks. During a Sync, it grows as lists
	// are read.
	Behind int64 `json:"behind"`

	// Until is the time up to which changes have been read, in the set where that is the latest.
	Until time.Time `json:"until,omitzero"`

	// Resources and Bytes are the size of the copy after the last Sync or notification.
	Resources int64 `json:"resources"`
	Bytes     int64 `json:"bytes"`

	// Began is the time at which the running Sync began, and Progress is its progress.
	Began    time.Time `json:"began,omitzero"`
	Progress Progress  `json:"progress,omitzero"`

	// Last is the report of the last Sync, Ended the time of its end, and Error its error. Failures
	// counts the failed ones in a row.
	Last     *Report   `json:"last,omitempty"`
	Ended    time.Time `json:"ended,omitzero"`
	Error    string    `json:"error,omitempty"`
	Failures int       `json:"failures,omitempty"`

	// Next is the time of the next Sync of Follow.
	Next time.Time `json:"next,omitzero"`

	// Channels are the channels that Follow uses. It reads the Change Lists of sets without one.
	Channels []ChannelStatus `json:"channels,omitempty"`
}

// A ChannelStatus describes how notifications are received.
type ChannelStatus struct {
	Capability resourcesync.Capability `json:"capability"`
	By         string                  `json:"by"`      // "WebSub" or "WebSocket"
	Address    string                  `json:"address"` // of the topic or the WebSocket

	// Open is true while the WebSocket is connected, or a hub has verified the subscription and its
	// lease has not ended. Since is the time at which that began.
	Open    bool      `json:"open"`
	Since   time.Time `json:"since,omitzero"`
	Expires time.Time `json:"expires,omitzero"` // the lease

	// Received counts the notifications of this process, and Last is the time of the newest.
	Received int64     `json:"received"`
	Last     time.Time `json:"last,omitzero"`

	// Error says why the last attempt to open the channel has failed, or why it was closed. Next is
	// the time of the next attempt.
	Error string    `json:"error,omitempty"`
	Next  time.Time `json:"next,omitzero"`
}

// Status returns the status of the copy. It does not wait for a Sync.
func (d *Destination) Status() Status { return d.watch.status() }

// A watch has the data that Status returns. Its lock is held only for moments.
type watch struct {
	mu       sync.Mutex
	now      Status // without channels
	channels map[channelKey]*ChannelStatus
}

func (w *watch) status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.now
	for _, key := range slices.SortedFunc(maps.Keys(w.channels), func(a, b channelKey) int { return strings.Compare(a.address, b.address) }) {
		c := *w.channels[key]
		if !c.Expires.IsZero() && !c.Expires.After(time.Now()) {
			c.Open = false
		}
		s.Channels = append(s.Channels, c)
	}
	return s
}

func (w *watch) change(f func(*Status)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.now)
}

// began records that a Sync begins.
func (w *watch) began() {
	w.change(func(s *Status) { s.Began, s.Progress = time.Now(), Progress{} })
}

// ended records the end of a Sync.
func (r *run) ended(err error) {
	now := time.Now()
	until, found := r.state.Until()
	r.watch.change(func(s *Status) {
		s.Began, s.Progress = time.Time{}, Progress{}
		s.Last, s.Ended, s.Error = r.report, now, ""
		s.measure(r.report)
		if found == nil {
			s.Until = until
		}
		switch {
		case err != nil:
			s.Error = sparse.Clip(err.Error())
			s.Failures++
		case r.report.Failed > 0:
			s.Failures++
		default:
			s.InSync, s.Failures = r.checked, 0
		}
	})
}

// notified records that notifications have been applied.
func (r *run) notified() {
	until, err := r.state.Until()
	r.watch.change(func(s *Status) {
		s.measure(r.report)
		if err == nil {
			s.Until = until
		}
	})
}

// measure copies the size of the copy from a report.
func (s *Status) measure(r *Report) {
	s.Behind, s.Resources, s.Bytes = r.Failed, r.Resources, r.Bytes
}

// progressed records how far a Sync is.
func (w *watch) progressed(p Progress) {
	w.change(func(s *Status) {
		if !s.Began.IsZero() { // otherwise it is an audit
			s.Progress, s.Behind = p, max(p.Pending, 0)
		}
	})
}

// join adds a channel, and leave removes it.
func (w *watch) join(ch *channel) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.channels == nil {
		w.channels = make(map[channelKey]*ChannelStatus)
	}
	s := &ChannelStatus{Capability: ch.Capability, By: "WebSocket", Address: ch.key.address}
	if ch.key.hub {
		s.By = "WebSub"
	}
	w.channels[ch.key] = s
}

func (w *watch) leave(key channelKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.channels, key)
}

// note changes the status of a channel, unless it has been left.
func (w *watch) note(key channelKey, f func(*ChannelStatus)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.channels[key]; s != nil {
		f(s)
	}
}

// opened records that the channel is open, until expires unless that is zero.
func (ch *channel) opened(expires, next time.Time) {
	ch.watch.note(ch.key, func(s *ChannelStatus) {
		if !s.Open {
			s.Since = time.Now()
		}
		s.Open, s.Expires, s.Next, s.Error = true, expires, next, ""
	})
}

// failed records the reason why the channel could not be opened, or was closed. A subscription
// stays until its lease ends, even if it could not be renewed.
func (ch *channel) failed(reason string, next time.Time) {
	ch.watch.note(ch.key, func(s *ChannelStatus) {
		s.Error, s.Next = sparse.Clip(reason), next
		if !ch.key.hub {
			s.Open = false
		}
	})
}

// received records a notification.
func (ch *channel) received() {
	ch.watch.note(ch.key, func(s *ChannelStatus) {
		s.Received++
		s.Last = time.Now()
	})
}
