package providertest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

var changeRules = []rule{
	{"Changes/order", "Changer.Changes", needs{changer}, changesOrder, "changes are in chronological order"},
	{"Changes/valid", "Change", needs{changer}, changesValid,
		"every change has a type, a datetime, and a resource with a key and a URI, even if it is deleted"},
	{"Changes/interval", "Interval", needs{changer}, changesInterval, "an interval contains the changes after From, up to and including Until"},
	{"Changes/newest", "Change.Resource", needs{changer}, changesNewest, "the newest change of a key has the resource that is in the set"},
	{"Changes/replay", "Changer", needs{changer, editing}, changesReplay, "applying the new changes to the previous set gives the current set"},
	{"Changes/type", "Change.Type", needs{changer, editing}, changesType, "changes have the type of what happened to the resource"},
	{"Changes/uri", "Changer.Changes", needs{changer, editing}, changesURI,
		"applying the new changes by URI, without keys, gives the current set, even if resources share URIs and move"},
	{"Since/steady", "Changer.Since", needs{changer}, sinceSteady, "it is not zero, and does not move back"},
}

func changesOrder(ctx context.Context, s *subject) {
	all := s.listInterval(ctx, resourcesync.Interval{})
	for i, b := range all {
		if a := all[max(i-1, 0)]; b.Datetime.Before(a.Datetime) {
			fail("%v comes before %v", a, b)
		}
	}
}

func changesValid(ctx context.Context, s *subject) {
	for _, c := range s.listChanges(ctx) {
		ensure(try(func() { checkResource(c.Resource) }), "%v", c)
		if c.Datetime.IsZero() {
			fail("%v: the datetime is zero", c)
		}
		switch c.Type {
		case resourcesync.Created, resourcesync.Updated, resourcesync.Deleted:
		default:
			fail("%v: unknown type of change", c)
		}
	}
}

func changesInterval(ctx context.Context, s *subject) {
	all := s.listInterval(ctx, resourcesync.Interval{})
	for _, iv := range intervals(all) {
		want := filter(all, func(c resourcesync.Change) bool { return iv.Contains(c.Datetime) })
		equal(s.listInterval(ctx, iv), want, "interval %v", iv)
	}
}

// intervals returns intervals that begin and end at changes and just before and after them.
func intervals(all []resourcesync.Change) []resourcesync.Interval {
	var points []time.Time
	for _, c := range sample(all, 16) {
		points = append(points, c.Datetime.Add(-1), c.Datetime, c.Datetime.Add(1))
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

func changesNewest(ctx context.Context, s *subject) {
	set := members(s.list(ctx))
	newest := map[string]resourcesync.Change{}
	for _, c := range s.listChanges(ctx) {
		newest[c.Resource.Key] = c
	}
	for _, c := range newest {
		switch r, found := set[c.Resource.Key]; {
		case found == (c.Type == resourcesync.Deleted):
			fail("the newest change is %v, but the resource is in the set: %t", c, found)
		case found && !s.agree(c.Resource, r):
			fail("%v is not that in the set: %s", c, describeDifference(c.Resource, r))
		}
	}
}

// agree reports whether a change and the set have the same resource. It ignores Stamps,
// which a journal need not keep.
func (s *subject) agree(inChange, inSet resourcesync.Resource) bool {
	inChange.Stamp, inSet.Stamp = "", ""
	return s.Equal(inChange, inSet)
}

// journal returns a function that returns the changes since its last call. Old changes may
// have been dropped meanwhile.
func (s *subject) journal(ctx context.Context) func() []resourcesync.Change {
	seen := s.listChanges(ctx)
	return func() []resourcesync.Change {
		all := s.listChanges(ctx)
		added := filter(all, func(c resourcesync.Change) bool {
			return !slices.ContainsFunc(at(seen, c.Datetime), func(o resourcesync.Change) bool { return same(o, c) })
		})
		seen = all
		return added
	}
}

// at returns the changes at t; all are sorted by time.
func at(all []resourcesync.Change, t time.Time) []resourcesync.Change {
	from := sort.Search(len(all), func(i int) bool { return !all[i].Datetime.Before(t) })
	n := sort.Search(len(all)-from, func(i int) bool { return all[from+i].Datetime.After(t) })
	return all[from : from+n]
}

func changesReplay(ctx context.Context, s *subject) {
	byKey := func(a, b resourcesync.Resource) int { return strings.Compare(a.Key, b.Key) }
	set, added := members(s.list(ctx)), s.journal(ctx)
	s.live(ctx, func(edit) {
		for _, c := range added() {
			if set[c.Resource.Key] = c.Resource; c.Type == resourcesync.Deleted {
				delete(set, c.Resource.Key)
			}
		}
		replayed, all := slices.SortedFunc(maps.Values(set), byKey), slices.SortedFunc(slices.Values(s.list(ctx)), byKey)
		ensure(difference(replayed, all, s.agree), "applying the changes does not give the current set")
	})
}

func changesType(ctx context.Context, s *subject) {
	s.live(ctx, func(e edit) {
		for _, c := range slices.Backward(s.listChanges(ctx)) {
			if c.Resource.Key == e.key {
				if c.Type != e.change {
					fail("the newest change of %s is %s, expected %s", quote(e.key), c.Type, e.change)
				}
				return
			}
		}
		fail("the journal has no change of %s", quote(e.key))
	})
}

func changesURI(ctx context.Context, s *subject) {
	keys := s.spare(ctx, 2)
	a, b := s.make(keys[0]), s.make(keys[1])
	beside, away := b, a
	beside.URI, away.URI = a.URI, b.URI
	uris := func() map[string]bool {
		set := map[string]bool{}
		for _, r := range s.list(ctx) {
			set[r.URI] = true
		}
		return set
	}
	known, added := uris(), s.journal(ctx)
	for _, e := range []edit{
		{what: "creating a resource", make: func() { s.put(ctx, a) }},
		{what: "moving it to another URI", make: func() { s.put(ctx, away) }},
		{what: "moving it back", make: func() { s.put(ctx, a) }},
		{what: "creating another at its URI", make: func() { s.put(ctx, beside) }},
		{what: "deleting the first", make: func() { s.delete(ctx, a.Key) }},
		{what: "creating it again", make: func() { s.put(ctx, a) }},
		{what: "moving the other to another URI", make: func() { s.put(ctx, b) }},
		{what: "moving it to the URI of the first again", make: func() { s.put(ctx, beside) }},
		{what: "deleting both", make: func() { s.delete(ctx, a.Key, b.Key) }},
	} {
		err := try(e.make)
		if errors.Is(err, errors.ErrUnsupported) {
			return
		}
		ensure(err, "%s", e.what)
		for _, c := range added() {
			if known[c.Resource.URI] = true; c.Type == resourcesync.Deleted {
				delete(known, c.Resource.URI)
			}
		}
		got, want := slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(uris()))
		equal(got, want, "after %s: applying the changes by URI does not give the current URIs", e.what)
	}
}

func sinceSteady(ctx context.Context, s *subject) {
	switch a, b := s.since(ctx), s.since(ctx); {
	case a.IsZero():
		fail("Since is zero: a Change List would have no from")
	case b.Before(a):
		fail("Since moved back from %v to %v", a, b)
	}
}

var windowRules = []rule{
	{"Windows/contiguous", "Windower", needs{windower}, windowsContiguous,
		"the first window begins at Since, each of the others where the previous one ends, and only the last is open"},
	{"Windows/size", "Windower", needs{windower}, sizeRule((*subject).windows, (*subject).listInterval), "no window has more than max changes"},
	{"Windows/closed", "Windower", needs{windower, editing}, windowsClosed, "a closed window keeps its interval and gets no more changes"},
}

var windowSizes = []int{1, 2, 3, 10, rsxml.MaxEntries}

func (s *subject) windows(ctx context.Context, max int) []resourcesync.Interval {
	return must(s.Changer.(resourcesync.Windower).Windows(ctx, max))("Windows(%d)", max)
}

// checkWindows fails unless the first window begins at from and each of the others where the
// previous one ends, and a window fails if the function reports true for it.
func checkWindows(max int, windows []resourcesync.Interval, from time.Time, wrong func(i int, iv resourcesync.Interval) bool) {
	for i, iv := range windows {
		if !iv.From.Equal(from) {
			fail("windows of %d: window %d begins at %v, expected %v", max, i+1, iv.From, from)
		}
		if !iv.Open() && !iv.From.Before(iv.Until) || wrong(i, iv) {
			fail("windows of %d: window %d of %d is %v", max, i+1, len(windows), iv)
		}
		from = iv.Until
	}
}

func windowsContiguous(ctx context.Context, s *subject) {
	since := s.since(ctx)
	for _, max := range windowSizes {
		windows := s.windows(ctx, max)
		checkWindows(max, windows, since, func(i int, iv resourcesync.Interval) bool { return iv.Open() != (i == len(windows)-1) })
		if len(windows) == 0 {
			fail("windows of %d: there is no window, expected an open one", max)
		}
	}
}

// sizeRule returns the check that no window has more than max changes.
func sizeRule(
	windows func(*subject, context.Context, int) []resourcesync.Interval,
	changes func(*subject, context.Context, resourcesync.Interval) []resourcesync.Change,
) func(context.Context, *subject) {
	return func(ctx context.Context, s *subject) {
		for _, max := range windowSizes {
			for _, iv := range windows(s, ctx, max) {
				if n := len(changes(s, ctx, iv)); n > max {
					fail("windows of %d: window %v has %d changes", max, iv, n)
				}
			}
		}
	}
}

func windowsClosed(ctx context.Context, s *subject) {
	type closed struct {
		window  resourcesync.Interval
		changes []resourcesync.Change
	}
	look := func() (all []closed) {
		for _, iv := range s.windows(ctx, 2) {
			if !iv.Open() {
				all = append(all, closed{iv, s.listInterval(ctx, iv)})
			}
		}
		return all
	}
	before := look()
	s.live(ctx, func(edit) {
		after, since := look(), s.since(ctx)
		for _, b := range before {
			if b.window.From.Before(since) {
				continue
			}
			i := slices.IndexFunc(after, func(a closed) bool { return same(a.window, b.window) })
			if i < 0 {
				fail("the closed window %v has disappeared", b.window)
			}
			equal(after[i].changes, b.changes, "the closed window %v has changed", b.window)
		}
		before = after
	})
}
