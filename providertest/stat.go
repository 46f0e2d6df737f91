package providertest

import (
	"context"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

var statRules = []rule{
	{"Stat/count", "Stat.Count", needs{stater}, statCount, "it is the number of resources in the range, if it is known"},
	{"Stat/steady", "Stat.Version", needs{stater}, statSteady, "without changes to the set, Stat stays the same"},
	{"Stat/version", "Stat.Version", needs{stater, editing}, statVersion, "different states of the set, and of a range, have different Versions"},
	{"Stat/lastmodified", "Stat.LastModified", needs{stater, editing}, statLastModified,
		"it never moves back, even if the resource that was modified last is deleted"},
	{"Stat/journal", "Stat.LastModified", needs{stater, changer, editing}, statJournal,
		"it is not before the newest change in the journal, deletions included, and not after the next one"},
	{"Stat/exact", "Stat.Version", needs{stater, editing, exactStat}, statExact,
		"it stays if a change is outside of the range, or if an identical resource is put"},
	{"StatParts/adjacent", "PartStater", needs{partStater}, statPartsAdjacent,
		"the first part begins where the range does, and the others follow in order"},
	{"StatParts/version", "Part.Version", needs{partStater, editing}, statPartsVersion, "different states of a part have different Versions"},
}

func (s *subject) stat(ctx context.Context, r resourcesync.Range) resourcesync.Stat {
	return must(s.Stater.Stat(ctx, r))("Stat(%v)", r)
}

func statCount(ctx context.Context, s *subject) {
	all := s.list(ctx)
	for _, r := range ranges(all) {
		if st, n := s.stat(ctx, r), int64(len(within(all, r))); st.Count >= 0 && st.Count != n {
			fail("range %v: Count is %d, but it has %d resources", r, st.Count, n)
		}
	}
}

func statSteady(ctx context.Context, s *subject) {
	for _, r := range ranges(s.list(ctx)) {
		if a, b := s.stat(ctx, r), s.stat(ctx, r); !same(a, b) {
			fail("range %v: %v became %v although the set has not changed", r, a, b)
		}
	}
}

// only returns the range of a single key.
func only(key string) resourcesync.Range {
	return resourcesync.Range{From: key, To: key + "\x01"}
}

func statVersion(ctx context.Context, s *subject) {
	// The set, and the range of the first resource that is created.
	for _, r := range []resourcesync.Range{{}, only(s.spare(ctx, 1)[0])} {
		states := map[string][]resourcesync.Resource{} // by Version
		look := func(edit) {
			st, content := s.stat(ctx, r), s.listRange(ctx, r)
			if old, found := states[st.Version]; found && difference(old, content, same) != nil {
				fail("Version of the range %v is %q, which another state also had", r, st.Version)
			}
			states[st.Version] = content
		}
		look(edit{})
		s.live(ctx, look)
	}
}

func statLastModified(ctx context.Context, s *subject) {
	newest := map[resourcesync.Range]time.Time{{}: {}, only(s.spare(ctx, 1)[0]): {}}
	look := func(edit) {
		for r, last := range newest {
			switch st := s.stat(ctx, r); {
			case st.LastModified.IsZero():
			case st.LastModified.Before(last):
				fail("LastModified of the range %v moved back from %v to %v", r, last, st.LastModified)
			default:
				newest[r] = st.LastModified
			}
		}
	}
	look(edit{})
	s.live(ctx, look)
}

func statJournal(ctx context.Context, s *subject) {
	previous := s.stat(ctx, resourcesync.Range{})
	s.live(ctx, func(edit) {
		changes := s.listChanges(ctx)
		if len(changes) == 0 {
			return
		}
		newest, st := changes[len(changes)-1], s.stat(ctx, resourcesync.Range{})
		if newest.Datetime.Before(previous.LastModified) {
			fail("%v is before the LastModified of the previous state, %v", newest, previous.LastModified)
		}
		if !st.LastModified.IsZero() && st.LastModified.Before(newest.Datetime) {
			fail("LastModified is %v, before %v", st.LastModified, newest)
		}
		previous = st
	})
}

func statExact(ctx context.Context, s *subject) {
	key := s.spare(ctx, 1)[0]
	before := map[resourcesync.Range]resourcesync.Stat{{To: key}: {}, {From: key + "~"}: {}}
	for r := range before {
		before[r] = s.stat(ctx, r)
	}
	s.live(ctx, func(e edit) {
		for r, old := range before {
			if st := s.stat(ctx, r); e.key == key && !same(st, old) {
				fail("range %v: %v became %v although the change was of %s", r, old, st, quote(key))
			}
		}
	})
	r := s.make(key)
	s.put(ctx, r)
	once := s.stat(ctx, resourcesync.Range{})
	s.put(ctx, r)
	if twice := s.stat(ctx, resourcesync.Range{}); !same(once, twice) {
		fail("%v became %v when the same resource was put again", once, twice)
	}
}

func (s *subject) parts(ctx context.Context, r resourcesync.Range) []resourcesync.Part {
	parts := must(s.Stater.(resourcesync.PartStater).StatParts(ctx, r))("StatParts(%v)", r)
	if len(parts) == 0 {
		fail("StatParts(%v): no parts", r)
	}
	for i, p := range parts {
		if i == 0 && p.From != r.From || i > 0 && (p.From <= parts[i-1].From || !r.Contains(p.From)) {
			fail("StatParts(%v): part %d begins at %s", r, i, quote(p.From))
		}
	}
	return parts
}

func statPartsAdjacent(ctx context.Context, s *subject) {
	for _, r := range ranges(s.list(ctx)) {
		s.parts(ctx, r)
	}
}

func statPartsVersion(ctx context.Context, s *subject) {
	states := map[[3]string][]resourcesync.Resource{} // by range and Version
	look := func(edit) {
		parts := s.parts(ctx, resourcesync.Range{})
		for i, p := range parts {
			r := resourcesync.Range{From: p.From}
			if i+1 < len(parts) {
				r.To = parts[i+1].From
			}
			content := s.listRange(ctx, r)
			state := [3]string{r.From, r.To, p.Version}
			if old, found := states[state]; found && p.Version != "" && difference(old, content, same) != nil {
				fail("Version of the part %v is %q, which another state also had", r, p.Version)
			}
			states[state] = content
		}
	}
	look(edit{})
	s.live(ctx, look)
}
