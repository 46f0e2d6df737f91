package rshttp_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// A computed set has a number of resources that exist only while they are read, and a journal
// of the few that have been edited. It counts what the Source reads of it.
type computed struct {
	n    int
	mu   sync.Mutex
	log  []edit
	wake []func()

	read, stats, divisions atomic.Int64
}

type edit struct {
	number int
	at     time.Time
}

var _ interface {
	resourcesync.Provider
	resourcesync.Stater
	resourcesync.Cutter
	resourcesync.Changer
	resourcesync.Watcher
} = (*computed)(nil)

const computedDigits = 10

func computedKey(i int) string { return fmt.Sprintf("%0*d", computedDigits, i) }

// edits returns the edits so far. They are only appended to.
func (c *computed) edits() []edit {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log
}

// edit changes a resource, and wakes the Source.
func (c *computed) edit(i int) {
	c.mu.Lock()
	c.log = append(c.log, edit{i, time.Now().UTC().Truncate(time.Microsecond)})
	wake := c.wake
	c.mu.Unlock()
	for _, wake := range wake {
		wake()
	}
}

func (c *computed) at(i int) resourcesync.Resource {
	uri := fmt.Appendf(nil, "https://example.org/repository/objects/%0*d", computedDigits, i)
	r := resourcesync.Resource{
		Key: string(uri[len(uri)-computedDigits:]), URI: string(uri), LastModified: newYear,
		Length: resourcesync.Bytes(int64(i)), Type: "application/pdf", Hashes: numberHashes,
	}
	return r
}

func (c *computed) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		edited := map[int]time.Time{}
		for _, e := range c.edits() {
			edited[e.number] = e.at
		}
		for i := c.first(r.From); i < c.n; i++ {
			res := c.at(i)
			if at, ok := edited[i]; ok {
				res.LastModified = at
			}
			if !r.Contains(res.Key) {
				return
			}
			c.read.Add(1)
			if !yield(res, nil) {
				return
			}
			if i%1000 == 0 && ctx.Err() != nil {
				yield(resourcesync.Resource{}, ctx.Err())
				return
			}
		}
	}
}

// first returns the first number whose key is not less than from.
func (c *computed) first(from string) int {
	i, _ := strconv.Atoi((from + strings.Repeat("0", computedDigits))[:computedDigits])
	if computedKey(i) < from {
		i++
	}
	return i
}

func (c *computed) Stat(_ context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	c.stats.Add(1)
	st := resourcesync.Stat{Count: -1, LastModified: newYear, Version: "0"}
	for i, e := range slices.Backward(c.edits()) {
		if r.Contains(computedKey(e.number)) {
			st.LastModified, st.Version = e.at, strconv.Itoa(i+1)
			break
		}
	}
	return st, nil
}

// Cuts computes the pages. That is proportional to their number.
func (c *computed) Cuts(_ context.Context, _ []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	c.divisions.Add(1)
	cuts := make([]resourcesync.Cut, 0, c.n/every+1)
	for i := every; i < c.n; i += every {
		cuts = append(cuts, resourcesync.Cut{Key: computedKey(i), Count: every, Newest: newYear})
	}
	cuts = append(cuts, resourcesync.Cut{Count: every, Newest: newYear})
	for _, e := range c.edits() {
		cuts[e.number/every].Newest = e.at
	}
	return cuts, nil
}

func (c *computed) Since(context.Context) (time.Time, error) { return newYear, nil }

func (c *computed) Changes(_ context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		for _, e := range c.edits() {
			if e.at.After(iv.From) && (iv.Until.IsZero() || !e.at.After(iv.Until)) {
				if !yield(resourcesync.Change{Type: resourcesync.Updated, Datetime: e.at, Resource: c.at(e.number)}, nil) {
					return
				}
			}
		}
	}
}

func (c *computed) Watch(ctx context.Context, wake func()) error {
	c.mu.Lock()
	c.wake = append(c.wake, wake)
	c.mu.Unlock()
	<-ctx.Done()
	return nil
}
