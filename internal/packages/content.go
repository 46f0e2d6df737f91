package packages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/digest"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// Content is the source of the bitstreams in a set's packages. A Resource Dump needs
// Provider and Opener. A Change Dump needs ChangeOpener and, for patches, PatchOpener.
// The other fields are nil.
type Content struct {
	Provider     resourcesync.Provider
	Opener       resourcesync.Opener
	ChangeOpener resourcesync.ChangeOpener
	PatchOpener  resourcesync.PatchOpener
	Checksummer  resourcesync.Checksummer // may be nil
}

// open opens an item. If a resource does not exist, its Stamp may have changed since it
// was listed: open then looks for the same bytes under the new Stamp.
func (c *Content) open(ctx context.Context, it *item) (io.ReadCloser, error) {
	switch {
	case it.patch != nil:
		return c.PatchOpener.OpenPatch(ctx, it.patch.of, it.patch.link)
	case it.Type != "":
		return c.ChangeOpener.OpenChange(ctx, it.Change)
	}
	r := it.Resource
	content, err := c.Opener.Open(ctx, r)
	if !errors.Is(err, fs.ErrNotExist) {
		return content, err
	}
	for now, failed := range checked.Resources(ctx, c.Provider, resourcesync.Range{From: r.Key, To: r.Key + "\x00"}, nil) {
		if failed == nil && now.Stamp != r.Stamp && isSame(now, r) {
			return c.Opener.Open(ctx, now)
		}
	}
	return nil, err
}

// isSame reports whether a and b claim the same bytes.
func isSame(a, b resourcesync.Resource) bool {
	a.Links, a.Attrs = b.Links, b.Attrs
	return a.EqualEntry(b)
}

// knowledge is how the checksum of an item became known.
type knowledge int

const (
	unknown knowledge = iota // until the package is sent
	learned                  // by sending an earlier plan of the package
	stated                   // by a Checksummer, or the item was read before planning
)

// checksums are those that earlier plans of a package know.
type checksums map[itemKey]checksum

type checksum struct {
	*item
	crc   uint32
	known knowledge
}

// An itemKey identifies an item by its key, its URI and the time of its change.
type itemKey struct {
	key, uri string
	at       int64
}

func (it *item) itemKey() itemKey {
	return itemKey{it.Resource.Key, it.Resource.URI, it.Datetime.UnixNano()}
}

func (c checksums) addStated(items []item) {
	for i := range items {
		if it := &items[i]; it.known == stated {
			c[it.itemKey()] = checksum{it, it.crc, stated}
		}
	}
}

// checksums returns the checksums that p knows by now.
func (p *Plan[S]) checksums() checksums {
	c := make(checksums)
	for i := range p.items {
		it := &p.items[i]
		if crc, known := p.sum(i); known {
			c[it.itemKey()] = checksum{it, crc, max(it.known, learned)}
		}
	}
	return c
}

// A mismatchError says that content differs from its entry, or does not exist. It wraps no
// other error: fs.ErrNotExist would mean that the package does not exist.
type mismatchError struct {
	uri    string
	reason error
}

func (e *mismatchError) Error() string {
	if errors.Is(e.reason, fs.ErrNotExist) {
		return fmt.Sprintf("the content of %s cannot be opened: %v", e.uri, e.reason)
	}
	return fmt.Sprintf("the content of %s differs from its entry: %v", e.uri, e.reason)
}

// check sets the stated and learned checksums and the missing lengths of the items of c.
// It reads items without a length, and items that have differed from their entries
// before: they may still differ, and if not, the tag must include their checksums. All
// other items are read when they are sent.
func (pl *Planner[S]) check(ctx context.Context, pkg *Package[S], c *Contents, known checksums) error {
	for i := range c.items {
		it := &c.items[i]
		_, sized := it.Resource.Length.Bytes()
		readNow := !sized || pl.doubts.has(it.itemKey())
		if summer := pkg.Content.Checksummer; summer != nil && !readNow && it.patch == nil {
			crc, err := summer.Checksum(ctx, it.Resource)
			if err == nil {
				it.crc, it.known = crc, stated
				continue
			}
			if !errors.Is(err, errors.ErrUnsupported) {
				return checked.Error("checksum of "+it.Resource.URI, err)
			}
		}
		was, ok := known[it.itemKey()]
		switch {
		case ok && was.Resource.Equal(it.Resource) && (was.known == stated || !readNow):
			it.size, it.crc, it.known = was.size, was.crc, was.known
		case readNow:
			var err error
			if it.size, it.crc, err = pl.read(ctx, &pkg.Content, it); err != nil {
				return err
			}
			it.known = stated
		}
	}
	return nil
}

// sum reads the i-th item of p for its checksum while p is sent. It waits for a place
// among the readers, which sending does not need.
func (pl *Planner[S]) sum(ctx context.Context, pkg *Package[S], p *Plan[S], i int) (uint32, error) {
	if err := pl.reading.Acquire(ctx, pkg.Unlisted()); err != nil {
		return 0, err
	}
	defer pl.reading.Release(pkg.Unlisted())
	if crc, known := p.sum(i); known { // it became known during the wait
		return crc, nil
	}
	_, crc, err := pl.read(ctx, &pkg.Content, &p.items[i])
	return crc, err
}

// read reads an item for its length and checksum, and compares it with its entry.
func (pl *Planner[S]) read(ctx context.Context, content *Content, it *item) (size int64, crc uint32, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	progress := progress{time.AfterFunc(pl.options.ReadTimeout, cancel), pl.options.ReadTimeout}
	defer progress.timer.Stop()

	sums := digest.NewSums(it.Resource.Hashes...)
	pl.counters.Read.Add(1)
	opened, err := content.open(ctx, it)
	if err == nil {
		defer opened.Close()
		size, crc, err = virtualzip.Checksum(ctx, io.TeeReader(opened, io.MultiWriter(progress, sums)))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, &mismatchError{it.Resource.URI, err}
	}
	if err != nil {
		return 0, 0, checked.Error("reading "+it.Resource.URI, err)
	}
	if length, ok := it.Resource.Length.Bytes(); ok && length != size {
		return 0, 0, &mismatchError{it.Resource.URI, fmt.Errorf("it has %d bytes, not %d", size, length)}
	}
	if differ := digest.Differ(sums.Hashes(), it.Resource.Hashes); differ != nil {
		return 0, 0, &mismatchError{it.Resource.URI, fmt.Errorf("its hash is %v, not %v", differ.Have, differ.Want)}
	}
	return size, crc, nil
}

// progress postpones a time limit whenever something is written to it.
type progress struct {
	timer *time.Timer
	limit time.Duration
}

func (p progress) Write(b []byte) (int, error) {
	p.timer.Reset(p.limit)
	return len(b), nil
}

// doubts are items that differed from their entries when they were sent. After a repair
// the entries may be the same, so only the checksums of these items distinguish the
// package from the one before.
type doubts struct {
	mu    sync.Mutex
	items map[itemKey]bool
}

func (d *doubts) has(key itemKey) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.items[key]
}

func (d *doubts) add(key itemKey) {
	const most = 1000
	d.mu.Lock()
	defer d.mu.Unlock()
	for other := range d.items { // in random order
		if len(d.items) < most {
			break
		}
		delete(d.items, other)
	}
	d.items[key] = true
}
