package destination

import (
	"sync"

	"github.com/resourcesync-go/resourcesync/internal/background"
)

const (
	// inboxBytes is the maximum size of the notifications that wait. The Change List has the
	// changes of others.
	inboxBytes = 16 << 20

	// headBytes is the memory that a notification takes besides its body.
	headBytes = 512
)

// A notification has been received, and is authentic.
type notification struct {
	key  channelKey
	body []byte
}

// An inbox has the received notifications that have not been read.
type inbox struct {
	news chan struct{} // has a token when there are any

	mu     sync.Mutex
	all    []notification
	bytes  int
	missed map[channelKey]bool // channels of which notifications may have been missed; true if some have been
}

func newInbox() *inbox {
	return &inbox{news: make(chan struct{}, 1), missed: make(map[channelKey]bool)}
}

// put appends a notification, or records that one was dropped.
func (b *inbox) put(n notification) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes+len(n.body)+headBytes <= inboxBytes {
		b.all = append(b.all, n)
		b.bytes += len(n.body) + headBytes
	} else {
		b.missed[n.key] = true
	}
	background.Signal(b.news)
}

// miss records that notifications of a channel may have been missed or, if sure, have
// been missed.
func (b *inbox) miss(key channelKey, sure bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.missed[key] = b.missed[key] || sure
	background.Signal(b.news)
}

// take empties the inbox.
func (b *inbox) take() (all []notification, missed map[channelKey]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all, missed = b.all, b.missed
	b.all, b.bytes, b.missed = nil, 0, make(map[channelKey]bool)
	return all, missed
}
