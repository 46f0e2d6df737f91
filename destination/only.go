package destination

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/tree"
)

// restrict restricts a new copy to a single list, if Options.Only is set. The state records that
// list, because the meaning of a copy does not change later.
func (d *Destination) restrict(ctx context.Context) error {
	only, isNew, err := d.state.OnlyList()
	if err != nil {
		return err
	}
	switch want := d.options.Only; {
	case want == "" || want == only, only != "" && d.state.Before() != "": // see movedList
		d.only = only
		return nil
	case !isNew && only == "":
		return fmt.Errorf("this is a copy of all lists of the Source; for %s alone, begin a new copy in another folder", want)
	case !isNew:
		return fmt.Errorf("this is a copy of %s; for %s, begin a new copy in another folder", only, want)
	}
	d.only = d.options.Only
	return d.state.Write(ctx, func() error { return d.state.SaveOnlyList(d.only) })
}

// discover returns the sets of the Source that are copied.
func (r *run) discover(ctx context.Context) ([]tree.Set, error) {
	sets, err := r.reader.Discover(ctx, r.source)
	if err != nil || r.only == "" {
		return sets, err
	}
	var others []string
	for _, set := range sets {
		for _, capability := range []resourcesync.Capability{resourcesync.ResourceList, resourcesync.ResourceDump} {
			if slices.Contains(set.Lists[capability], r.only) {
				return []tree.Set{onlyList(set, capability, r.only)}, nil
			}
			others = append(others, set.Lists[capability]...)
		}
	}
	if more := len(others) - samples; more > 0 {
		others = append(others[:samples], fmt.Sprintf("and %d more", more))
	}
	return nil, fmt.Errorf("%s is not a Resource List or Resource Dump of the Source, which has: %s", r.only, strings.Join(others, ", "))
}

// onlyList returns the set without other lists of its resources than uri. The dumps beside a
// Resource List only have contents.
func onlyList(set tree.Set, capability resourcesync.Capability, uri string) tree.Set {
	lists := map[resourcesync.Capability][]string{
		resourcesync.ChangeList:   set.Lists[resourcesync.ChangeList],
		resourcesync.ChangeDump:   set.Lists[resourcesync.ChangeDump],
		resourcesync.ResourceDump: set.Lists[resourcesync.ResourceDump],
	}
	lists[capability] = []string{uri}
	set.Lists = lists
	return set
}
