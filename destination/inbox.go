package destination

import (
	"sync"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

const (
	// inboxBytes is the maximum size of the notifications that wait. Of more, the Change List
	// has the changes.
	inboxBytes = 16 << 20

	// headBytes is what a notification takes besides its body.
	headBytes = 512
)

// A notification has been received, and is authentic.
type notification struct {
	channel
	body []byte
}

// An inbox has the notifications that have been received and not been read.
type inbox struct {
	news chan struct{} // has a token when there are any

	mu     sync.Mutex
	all    []notification
	bytes  int
	missed map[string]bool // sets whose Change Lists may have more; "" is the whole Source
}

func newInbox() *inbox {
	return &inbox{news: make(chan struct{}, 1), missed: make(map[string]bool)}
}

// put appends a notification, or records that there was one.
func (b *inbox) put(n notification) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.bytes+len(n.body)+headBytes <= inboxBytes:
		b.all = append(b.all, n)
		b.bytes += len(n.body) + headBytes
	case n.Capability == resourcesync.FrameworkNotification:
		b.missed[""] = true
	default:
		b.missed[n.set.URI] = true
	}
	background.Signal(b.news)
}

// miss records that changes of a set may have been missed.
func (b *inbox) miss(set string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.missed[set] = true
	background.Signal(b.news)
}

// take empties the inbox.
func (b *inbox) take() (all []notification, missed map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all, missed = b.all, b.missed
	b.all, b.bytes, b.missed = nil, 0, make(map[string]bool)
	return all, missed
}
