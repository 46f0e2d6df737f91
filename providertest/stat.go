package providertest

import (
	"context"
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

var statRules = []rule{
	{"Stat/count", stater, statCount},
	{"Stat/steady", stater, statSteady},
	{"Stat/version", stater | editing, statVersion},
	{"Stat/lastmodified", stater | editing, statLastModified},
	{"Stat/journal", stater | changer | editing, statJournal},
	{"Stat/exact", stater | editing | exactStat, statExact},
	{"StatParts/adjacent", partStater, statPartsAdjacent},
	{"StatParts/version", partStater | editing, statPartsVersion},
}

func (s *subject) stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	st, err := s.stater.Stat(ctx, r)
	if err != nil {
		return st, fmt.Errorf("Stat(%s): %w", rangeText(r), err)
	}
	return st, nil
}

// count: Count is the number of resources in the range, if it is known.
func statCount(ctx context.Context, s *subject) error {
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, r := range append(ranges(all), resourcesync.Range{}) {
		st, err := s.stat(ctx, r)
		if err != nil {
			return err
		}
		if n := int64(len(within(all, r))); st.Count >= 0 && st.Count != n {
			return fmt.Errorf("range %s: Count is %d, but it has %d resources", rangeText(r), st.Count, n)
		}
	}
	return nil
}

// steady: without changes to the set, Stat stays the same.
func statSteady(ctx context.Context, s *subject) error {
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, r := range append(ranges(all), resourcesync.Range{}) {
		a, err := s.stat(ctx, r)
		if err != nil {
			return err
		}
		b, err := s.stat(ctx, r)
		if err != nil {
			return err
		}
		if !sameStat(a, b) {
			return fmt.Errorf("range %s: %s became %s although the set has not changed", rangeText(r), statText(a), statText(b))
		}
	}
	return nil
}

func sameStat(a, b resourcesync.Stat) bool {
	return a.Count == b.Count && a.Version == b.Version && a.LastModified.Equal(b.LastModified)
}

func statText(st resourcesync.Stat) string {
	return fmt.Sprintf("{Count %d, LastModified %s, Version %q}", st.Count, timeText(st.LastModified), st.Version)
}

// only returns the range of a single key.
func only(key string) resourcesync.Range {
	return resourcesync.Range{From: key, To: key + "\x01"}
}

// version: different states of the set, and of a range, have different Versions.
func statVersion(ctx context.Context, s *subject) error {
	type state struct {
		content []resourcesync.Resource
		version string
	}
	var states []state
	look := func(r resourcesync.Range) error {
		st, err := s.stat(ctx, r)
		if err != nil {
			return err
		}
		content, err := s.listRange(ctx, r)
		if err != nil {
			return err
		}
		for _, old := range states {
			if old.version == st.Version && sameResources(old.content, content) != nil {
				return fmt.Errorf("Version of the range %s is %q, like that of another state", rangeText(r), st.Version)
			}
		}
		states = append(states, state{content, st.Version})
		return nil
	}
	if err := look(resourcesync.Range{}); err != nil {
		return err
	}
	if err := s.live(ctx, func(edit) error { return look(resourcesync.Range{}) }); err != nil {
		return err
	}
	keys, err := s.spare(ctx, 1) // of the first resource that comes to life
	if err != nil {
		return err
	}
	states = nil
	if err := look(only(keys[0])); err != nil {
		return err
	}
	return s.live(ctx, func(edit) error { return look(only(keys[0])) })
}

// lastmodified: LastModified, if known, never moves back, even if the resource that was
// modified last is deleted.
func statLastModified(ctx context.Context, s *subject) error {
	keys, err := s.spare(ctx, 1)
	if err != nil {
		return err
	}
	ranges := []resourcesync.Range{{}, only(keys[0])}
	newest := make([]time.Time, len(ranges))
	look := func() error {
		for i, r := range ranges {
			st, err := s.stat(ctx, r)
			if err != nil {
				return err
			}
			switch {
			case st.LastModified.IsZero():
				continue
			case st.LastModified.Before(newest[i]):
				return fmt.Errorf("LastModified of the range %s moved back from %s to %s", rangeText(r), timeText(newest[i]), timeText(st.LastModified))
			}
			newest[i] = st.LastModified
		}
		return nil
	}
	if err := look(); err != nil {
		return err
	}
	return s.live(ctx, func(edit) error { return look() })
}

// journal: LastModified is not before the newest change in the journal, deletions included,
// and not after the next one.
func statJournal(ctx context.Context, s *subject) error {
	st, err := s.stat(ctx, resourcesync.Range{})
	if err != nil {
		return err
	}
	return s.live(ctx, func(e edit) error {
		changes, err := s.listChanges(ctx)
		if err != nil || len(changes) == 0 {
			return err
		}
		newest := changes[len(changes)-1]
		if newest.Datetime.Before(st.LastModified) {
			return fmt.Errorf("%s is before the LastModified of the previous state, %s", changeTitle(newest), timeText(st.LastModified))
		}
		if st, err = s.stat(ctx, resourcesync.Range{}); err != nil {
			return err
		}
		if !st.LastModified.IsZero() && st.LastModified.Before(newest.Datetime) {
			return fmt.Errorf("LastModified is %s, before %s", timeText(st.LastModified), changeTitle(newest))
		}
		return nil
	})
}

// exact: a change outside of a range does not change the Stat of the range, and putting an
// identical resource does not change the Stat of the set.
func statExact(ctx context.Context, s *subject) error {
	keys, err := s.spare(ctx, 1)
	if err != nil {
		return err
	}
	around := []resourcesync.Range{{To: keys[0]}, {From: keys[0] + "~"}}
	var before []resourcesync.Stat
	for _, r := range around {
		st, err := s.stat(ctx, r)
		if err != nil {
			return err
		}
		before = append(before, st)
	}
	err = s.live(ctx, func(e edit) error {
		for i, r := range around {
			st, err := s.stat(ctx, r)
			if err != nil {
				return err
			}
			if e.key == keys[0] && !sameStat(st, before[i]) {
				return fmt.Errorf("range %s: %s became %s although the change was of %s", rangeText(r), statText(before[i]), statText(st), quote(e.key))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r := s.make(keys[0])
	var twice [2]resourcesync.Stat
	for i := range twice {
		if err := s.put(ctx, r); err != nil {
			return err
		}
		if twice[i], err = s.stat(ctx, resourcesync.Range{}); err != nil {
			return err
		}
	}
	if !sameStat(twice[0], twice[1]) {
		return fmt.Errorf("%s became %s when the same resource was put again", statText(twice[0]), statText(twice[1]))
	}
	return nil
}

func (s *subject) parts(ctx context.Context, r resourcesync.Range) ([]resourcesync.Part, error) {
	parts, err := s.partStater.StatParts(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("StatParts(%s): %w", rangeText(r), err)
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("StatParts(%s): no parts", rangeText(r))
	}
	for i, p := range parts {
		if i == 0 && p.From != r.From || i > 0 && (p.From <= parts[i-1].From || !r.Contains(p.From)) {
			return nil, fmt.Errorf("StatParts(%s): part %d begins at %s", rangeText(r), i, quote(p.From))
		}
	}
	return parts, nil
}

// adjacent: the first part begins where the range does, and the others follow in order.
func statPartsAdjacent(ctx context.Context, s *subject) error {
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, r := range append(ranges(all), resourcesync.Range{}) {
		if _, err := s.parts(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// version: different states of a part have different Versions.
func statPartsVersion(ctx context.Context, s *subject) error {
	type part struct {
		keys    resourcesync.Range
		version string
	}
	states := map[part][]resourcesync.Resource{}
	look := func(edit) error {
		parts, err := s.parts(ctx, resourcesync.Range{})
		if err != nil {
			return err
		}
		for i, p := range parts {
			r := resourcesync.Range{From: p.From}
			if i+1 < len(parts) {
				r.To = parts[i+1].From
			}
			content, err := s.listRange(ctx, r)
			if err != nil {
				return err
			}
			old, found := states[part{r, p.Version}]
			if found && p.Version != "" && sameResources(old, content) != nil {
				return fmt.Errorf("Version of the part %s is %q, like that of another state", rangeText(r), p.Version)
			}
			states[part{r, p.Version}] = content
		}
		return nil
	}
	if err := look(edit{}); err != nil {
		return err
	}
	return s.live(ctx, look)
}
