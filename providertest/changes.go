package providertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

var changeRules = []rule{
	{"Changes/order", changer, changesOrder},
	{"Changes/valid", changer, changesValid},
	{"Changes/interval", changer, changesInterval},
	{"Changes/newest", changer, changesNewest},
	{"Changes/replay", changer | editing, changesReplay},
	{"Changes/type", changer | editing, changesType},
	{"Changes/uri", changer | editing, changesURI},
	{"Since/steady", changer, sinceSteady},
}

// order: changes are in chronological order.
func changesOrder(ctx context.Context, s *subject) error {
	changes, err := s.listInterval(ctx, resourcesync.Interval{})
	if err != nil {
		return err
	}
	for i := range changes[:max(len(changes)-1, 0)] {
		if a, b := changes[i], changes[i+1]; b.Datetime.Before(a.Datetime) {
			return fmt.Errorf("%s comes before %s", changeTitle(a), changeTitle(b))
		}
	}
	return nil
}

// valid: every change has a type, a datetime, and a resource with a key and a URI, even if
// it is deleted.
func changesValid(ctx context.Context, s *subject) error {
	changes, err := s.listChanges(ctx)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if err := checkResource(c.Resource); err != nil {
			return fmt.Errorf("%s: %w", changeTitle(c), err)
		}
		if c.Datetime.IsZero() {
			return fmt.Errorf("%s: the datetime is zero", changeTitle(c))
		}
		switch c.Type {
		case resourcesync.Created, resourcesync.Updated, resourcesync.Deleted:
		default:
			return fmt.Errorf("%s: unknown type of change", changeTitle(c))
		}
	}
	return nil
}

// interval: an interval contains the changes after From, up to and including Until.
func changesInterval(ctx context.Context, s *subject) error {
	all, err := s.listInterval(ctx, resourcesync.Interval{})
	if err != nil {
		return err
	}
	for _, iv := range intervals(all) {
		got, err := s.listInterval(ctx, iv)
		if err != nil {
			return err
		}
		var want []resourcesync.Change
		for _, c := range all {
			if iv.Contains(c.Datetime) {
				want = append(want, c)
			}
		}
		if err := difference(got, want, sameChange, changeTitle); err != nil {
			return fmt.Errorf("interval %s: %w", intervalText(iv), err)
		}
	}
	return nil
}

// intervals returns intervals that begin and end at changes and just before and after them.
func intervals(all []resourcesync.Change) []resourcesync.Interval {
	const most = 16 // changes
	var points []time.Time
	for i := 0; i < len(all); i += 1 + len(all)/most {
		t := all[i].Datetime
		points = append(points, t.Add(-1), t, t.Add(1))
	}
	var out []resourcesync.Interval
	for i, p := range points {
		out = append(out, resourcesync.Interval{From: p, Until: p})
		for _, j := range []int{i + 1, i + 3, i + 10} {
			if j < len(points) {
				out = append(out, resourcesync.Interval{From: p, Until: points[j]})
			}
		}
		if i%4 == 0 {
			out = append(out, resourcesync.Interval{From: p}, resourcesync.Interval{Until: p})
		}
	}
	return out
}

// newest: the newest change of a key has the resource that is in the set.
func changesNewest(ctx context.Context, s *subject) error {
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	changes, err := s.listChanges(ctx)
	if err != nil {
		return err
	}
	set := members(all)
	newest := map[string]resourcesync.Change{}
	for _, c := range changes {
		newest[c.Resource.Key] = c
	}
	for _, c := range newest {
		switch r, found := set[c.Resource.Key]; {
		case found && c.Type == resourcesync.Deleted:
			return fmt.Errorf("the newest change is %s, but it is in the set", changeTitle(c))
		case !found && c.Type != resourcesync.Deleted:
			return fmt.Errorf("the newest change is %s, but it is not in the set", changeTitle(c))
		case found && !s.agree(c.Resource, r):
			return fmt.Errorf("%s is not that in the set: %s", changeTitle(c), unlike(c.Resource, r))
		}
	}
	return nil
}

// agree reports whether a change and the set have the same resource. It ignores Stamps,
// which a journal need not keep.
func (s *subject) agree(inChange, inSet resourcesync.Resource) bool {
	inChange.Stamp, inSet.Stamp = "", ""
	return s.opts.Equal(inChange, inSet)
}

func members(all []resourcesync.Resource) map[string]resourcesync.Resource {
	set := make(map[string]resourcesync.Resource, len(all))
	for _, r := range all {
		set[r.Key] = r
	}
	return set
}

// replay: applying the new changes to the previous set gives the current set.
func changesReplay(ctx context.Context, s *subject) error {
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	set := members(all)
	seen, err := s.listChanges(ctx)
	if err != nil {
		return err
	}
	return s.live(ctx, func(edit) error {
		changes, err := s.listChanges(ctx)
		if err != nil {
			return err
		}
		for _, c := range added(changes, seen) {
			if c.Type == resourcesync.Deleted {
				delete(set, c.Resource.Key)
			} else {
				set[c.Resource.Key] = c.Resource
			}
		}
		seen = changes
		all, err := s.list(ctx)
		if err != nil {
			return err
		}
		slices.SortFunc(all, byKey)
		replayed := slices.SortedFunc(maps.Values(set), byKey)
		if err := difference(replayed, all, s.agree, resourceTitle); err != nil {
			return fmt.Errorf("applying the changes does not give the current set: %w", err)
		}
		return nil
	})
}

// added returns the changes that are not in seen. Old changes may have been dropped.
func added(changes, seen []resourcesync.Change) []resourcesync.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c resourcesync.Change) bool {
		return slices.ContainsFunc(seen, func(o resourcesync.Change) bool { return sameChange(o, c) })
	})
}

// type: changes have the type of what happened to the resource.
func changesType(ctx context.Context, s *subject) error {
	return s.live(ctx, func(e edit) error {
		changes, err := s.listChanges(ctx)
		if err != nil {
			return err
		}
		for _, c := range slices.Backward(changes) {
			if c.Resource.Key == e.key {
				if c.Type != e.change {
					return fmt.Errorf("the newest change of %s is %s, expected %s", quote(e.key), c.Type, e.change)
				}
				return nil
			}
		}
		return fmt.Errorf("the journal has no change of %s", quote(e.key))
	})
}

// uri: applying the new changes by URI, without keys, also gives the current set, even if
// resources share URIs and move.
func changesURI(ctx context.Context, s *subject) error {
	keys, err := s.spare(ctx, 2)
	if err != nil {
		return err
	}
	a, b := s.make(keys[0]), s.make(keys[1])
	beside, away := b, a
	beside.URI, away.URI = a.URI, b.URI
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	known := uris(all)
	seen, err := s.listChanges(ctx)
	if err != nil {
		return err
	}
	for _, e := range []edit{
		{what: "creating a resource", make: func() error { return s.put(ctx, a) }},
		{what: "moving it to another URI", make: func() error { return s.put(ctx, away) }},
		{what: "moving it back", make: func() error { return s.put(ctx, a) }},
		{what: "creating another at its URI", make: func() error { return s.put(ctx, beside) }},
		{what: "deleting the first", make: func() error { return s.delete(ctx, a.Key) }},
		{what: "creating it again", make: func() error { return s.put(ctx, a) }},
		{what: "moving the other to a URI of its own", make: func() error { return s.put(ctx, b) }},
		{what: "moving it to that of the first again", make: func() error { return s.put(ctx, beside) }},
		{what: "deleting both", make: func() error { return s.delete(ctx, a.Key, b.Key) }},
	} {
		if err := e.make(); errors.Is(err, errors.ErrUnsupported) {
			return nil
		} else if err != nil {
			return err
		}
		changes, err := s.listChanges(ctx)
		if err != nil {
			return err
		}
		for _, c := range added(changes, seen) {
			if c.Type == resourcesync.Deleted {
				delete(known, c.Resource.URI)
			} else {
				known[c.Resource.URI] = true
			}
		}
		seen = changes
		if all, err = s.list(ctx); err != nil {
			return err
		}
		got, want := slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(uris(all)))
		if err := difference(got, want, func(a, b string) bool { return a == b }, quote); err != nil {
			return fmt.Errorf("after %s: applying the changes by URI does not give the current URIs: %w", e.what, err)
		}
	}
	return nil
}

func uris(all []resourcesync.Resource) map[string]bool {
	set := make(map[string]bool, len(all))
	for _, r := range all {
		set[r.URI] = true
	}
	return set
}

// since: Since is not zero, and does not move back.
func sinceSteady(ctx context.Context, s *subject) error {
	a, err := s.changer.Since(ctx)
	if err != nil {
		return fmt.Errorf("Since: %w", err)
	}
	b, err := s.changer.Since(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("Since: %w", err)
	case a.IsZero():
		return errors.New("Since is zero: a Change List would have no from")
	case b.Before(a):
		return fmt.Errorf("Since moved back from %s to %s", timeText(a), timeText(b))
	}
	return nil
}
