package packages

import "sync"

// maxDoubts is the maximum number of items in doubts.
const maxDoubts = 1000

// doubts are items that differed from their entries when they were sent. After a repair
// the entries may be the same, so only the checksums of these items distinguish the
// package from the one before.
type doubts struct {
	mu    sync.Mutex
	items map[itemKey]struct{}
}

func (d *doubts) has(key itemKey) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.items[key]
	return ok
}

func (d *doubts) add(key itemKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for other := range d.items { // in random order
		if len(d.items) < maxDoubts {
			break
		}
		delete(d.items, other)
	}
	if d.items == nil {
		d.items = make(map[itemKey]struct{})
	}
	d.items[key] = struct{}{}
}
