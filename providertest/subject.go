package providertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
)

// collect returns copies of the values of seq, up to an error. It does not use a range
// statement, which panics if seq continues after its end; another rule tests that.
func collect[T any](seq iter.Seq2[T, error], clone func(T) T) (all []T, err error) {
	seq(func(v T, e error) bool {
		if e != nil {
			if err == nil {
				err = e
			}
			return false
		}
		all = append(all, clone(v))
		return true
	})
	return all, err
}

// list returns all resources.
func (s *subject) list(ctx context.Context) ([]resourcesync.Resource, error) {
	return s.listRange(ctx, resourcesync.Range{})
}

func (s *subject) listRange(ctx context.Context, r resourcesync.Range) ([]resourcesync.Resource, error) {
	all, err := collect(s.provider.Resources(ctx, r), keep)
	if err != nil {
		return nil, fmt.Errorf("Resources(%v): %w", rangeText(r), err)
	}
	return all, nil
}

// listChanges returns all changes, sorted by time: another rule tests the order.
func (s *subject) listChanges(ctx context.Context) ([]resourcesync.Change, error) {
	all, err := s.listInterval(ctx, resourcesync.Interval{})
	slices.SortStableFunc(all, func(a, b resourcesync.Change) int { return a.Datetime.Compare(b.Datetime) })
	return all, err
}

func (s *subject) listInterval(ctx context.Context, iv resourcesync.Interval) ([]resourcesync.Change, error) {
	all, err := collect(s.changer.Changes(ctx, iv), keepChange)
	if err != nil {
		return nil, fmt.Errorf("Changes(%v): %w", intervalText(iv), err)
	}
	return all, nil
}

func (s *subject) put(ctx context.Context, resources ...resourcesync.Resource) error {
	if err := s.opts.Put(ctx, resources...); err != nil {
		return fmt.Errorf("Options.Put: %w", err)
	}
	return nil
}

func (s *subject) delete(ctx context.Context, keys ...string) error {
	if err := s.opts.Delete(ctx, keys...); err != nil {
		return fmt.Errorf("Options.Delete: %w", err)
	}
	return nil
}

// make returns a new version of a resource.
func (s *subject) make(key string) resourcesync.Resource {
	s.version++
	return newResource(key, s.version)
}

// spare returns the first n unused keys, near the beginning of most sets.
func (s *subject) spare(ctx context.Context, n int) ([]string, error) {
	all, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, r := range all {
		taken[r.Key] = true
	}
	for _, form := range []string{"!providertest-%03d", "providertest-%03d", "0providertest%03d"} {
		var keys []string
		for i := 0; len(keys) < n && i <= n+len(taken); i++ {
			if key := fmt.Sprintf(form, i); !taken[key] && s.allows(key) {
				keys = append(keys, key)
			}
		}
		if len(keys) == n {
			return keys, nil
		}
	}
	return nil, errors.New("Options.Keys allows no keys like providertest-000 and 0providertest000, which the suite needs")
}

// allows reports whether the backend can have a resource with this key.
func (s *subject) allows(key string) bool { return s.opts.Keys == nil || s.opts.Keys(key) }

// restore restores the set to the resources before.
func (s *subject) restore(ctx context.Context, before []resourcesync.Resource) error {
	now, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, r := range now {
		if !slices.ContainsFunc(before, func(b resourcesync.Resource) bool { return b.Key == r.Key }) {
			if err := s.delete(ctx, r.Key); err != nil {
				return err
			}
		}
	}
	for _, b := range before {
		if !slices.ContainsFunc(now, b.Equal) {
			if err := s.put(ctx, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// live makes a few changes, and calls visit with each after it is made.
func (s *subject) live(ctx context.Context, visit func(deed edit) error) error {
	keys, err := s.spare(ctx, 3)
	if err != nil {
		return err
	}
	a, b, c := keys[0], keys[1], keys[2]
	for _, e := range []edit{
		{"creating a resource", a, resourcesync.Created, func() error { return s.put(ctx, s.make(a)) }},
		{"updating it", a, resourcesync.Updated, func() error { return s.put(ctx, s.make(a)) }},
		{"deleting it", a, resourcesync.Deleted, func() error { return s.delete(ctx, a) }},
		{"creating another", b, resourcesync.Created, func() error { return s.put(ctx, s.make(b)) }},
		{"putting a third in its place", c, resourcesync.Created, func() error {
			if err := s.delete(ctx, b); err != nil {
				return err
			}
			return s.put(ctx, s.make(c))
		}},
		{"deleting the third", c, resourcesync.Deleted, func() error { return s.delete(ctx, c) }},
	} {
		if err := e.make(); err != nil {
			return err
		}
		if err := visit(e); err != nil {
			return fmt.Errorf("after %s: %w", e.what, err)
		}
	}
	return nil
}

// An edit is a change of the set; change is the type of its last event.
type edit struct {
	what   string
	key    string
	change resourcesync.ChangeType
	make   func() error
}

// difference returns the first difference between got and want.
func difference[T any](got, want []T, same func(got, want T) bool, title func(T) string) error {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Errorf("%s is missing at the end", title(want[i]))
		case i >= len(want):
			return fmt.Errorf("%s is an extra value at the end", title(got[i]))
		case same(got[i], want[i]):
		case title(got[i]) == title(want[i]):
			return fmt.Errorf("%s: %s", title(got[i]), unlike(got[i], want[i]))
		default:
			return fmt.Errorf("%s, expected %s", title(got[i]), title(want[i]))
		}
	}
	return nil
}

func sameResources(got, want []resourcesync.Resource) error {
	return difference(got, want, resourcesync.Resource.Equal, resourceTitle)
}

// byKey orders resources by their keys.
func byKey(a, b resourcesync.Resource) int { return strings.Compare(a.Key, b.Key) }

func resourceTitle(r resourcesync.Resource) string { return quote(r.Key) }

func changeTitle(c resourcesync.Change) string {
	return fmt.Sprintf("%s %s at %s", c.Type, quote(c.Resource.Key), timeText(c.Datetime))
}

func sameChange(a, b resourcesync.Change) bool {
	return a.Type == b.Type && a.Datetime.Equal(b.Datetime) && a.Resource.Equal(b.Resource)
}
