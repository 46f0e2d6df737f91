package rshttp

import "sync"

// maxDoubts is how many items are remembered to be doubtful.
const maxDoubts = 1000

// doubts are items that were not what was listed of them when they were sent. What is
// listed may be the same when they have been mended, or are listed late, so that only
// their checksums tell one package from the other.
type doubts struct {
	mu    sync.Mutex
	items map[checksumKey]struct{}
}

func (d *doubts) has(key checksumKey) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.items[key]
	return ok
}

func (d *doubts) add(key checksumKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for other := range d.items { // any, if there are too many
		if len(d.items) < maxDoubts {
			break
		}
		delete(d.items, other)
	}
	if d.items == nil {
		d.items = make(map[checksumKey]struct{})
	}
	d.items[key] = struct{}{}
}
