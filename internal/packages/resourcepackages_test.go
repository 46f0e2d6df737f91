package packages

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
)

// counting counts the resources that are listed.
type counting struct {
	*memory.Set
	listed int
}

func (c *counting) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for res, err := range c.Set.Resources(ctx, r) {
			c.listed++
			if !yield(res, err) {
				return
			}
		}
	}
}

// TestCutListsWhatHasChanged: a division after a change lists the changed packages,
// even if nobody has requested the dump.
func TestCutListsWhatHasChanged(t *testing.T) {
	const packages = 10
	set := &counting{Set: memory.New(nil)}
	put := func(i int, length int64) {
		if err := set.Put(t.Context(), resourcesync.Resource{Key: fmt.Sprintf("%06d", i), URI: fmt.Sprint("https://example.org/", i), Length: resourcesync.Bytes(length)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range packages * minResources {
		put(i, 1)
	}
	rs := &Resources{Provider: set, Stater: set.Set, Size: minResources * perResource}
	var cuts []resourcesync.Cut
	for i, most := range []int{packages * minResources, packages * minResources, minResources, 0, minResources} {
		if i == 2 || i == 4 {
			put(i*minResources, 2)
		}
		set.listed = 0
		now, err := rs.Cut(t.Context(), cuts)
		if err != nil || len(now) != packages || set.listed > most {
			t.Errorf("division %d: %d packages, %d resources listed, want %d at most; %v", i+1, len(now), set.listed, most, err)
		}
		cuts = now
	}
}
