package providertest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// A subject is a provider under test. Its Options have all the upgrades of the provider, and
// the resources that are expected as Want.
type subject struct {
	Options
	provider resourcesync.Provider
	empty    bool // the set has no resources
	version  int  // number of the last resource that the suite has created
}

func newSubject(p resourcesync.Provider, opts *Options) *subject {
	s := &subject{provider: p}
	if opts != nil {
		s.Options = *opts
	}
	s.Wait = cmp.Or(s.Wait, 10*time.Second)
	if s.Equal == nil {
		s.Equal = resourcesync.Resource.Equal
	}
	s.Stater = upgrade(s.Stater, p)
	s.Cutter = upgrade(s.Cutter, p)
	s.Changer = upgrade(s.Changer, p)
	s.Opener = upgrade(s.Opener, p)
	s.ChangeOpener = upgrade(s.ChangeOpener, p)
	s.Watcher = upgrade(s.Watcher, p)
	s.Coverer = upgrade(s.Coverer, p)
	s.Archiver = upgrade(s.Archiver, p)
	s.ChangeArchiver = upgrade(s.ChangeArchiver, p)
	return s
}

// upgrade returns explicit or, if that is nil, p if it is a T, as a Source finds upgrades.
func upgrade[T comparable](explicit T, p resourcesync.Provider) T {
	var none T
	if explicit != none {
		return explicit
	}
	t, _ := p.(T)
	return t
}

// collect returns copies of the values of seq, up to an error. After each it calls the
// functions that are given. It does not use a range statement, which panics if seq continues
// after its end; another rule tests that.
func collect[T any](seq iter.Seq2[T, error], after ...func()) (all []T, err error) {
	seq(func(v T, e error) bool {
		if e != nil {
			if err == nil {
				err = e
			}
			return false
		}
		all = append(all, keep(v))
		for _, f := range after {
			f()
		}
		return true
	})
	return all, err
}

// list returns all resources.
func (s *subject) list(ctx context.Context) []resourcesync.Resource {
	return s.listRange(ctx, resourcesync.Range{})
}

func (s *subject) listRange(ctx context.Context, r resourcesync.Range) []resourcesync.Resource {
	return must(collect(s.provider.Resources(ctx, r)))("Resources(%v)", r)
}

// listChanges returns all changes, sorted by time: another rule tests the order.
func (s *subject) listChanges(ctx context.Context) []resourcesync.Change {
	all := s.listInterval(ctx, resourcesync.Interval{})
	slices.SortStableFunc(all, func(a, b resourcesync.Change) int { return a.Datetime.Compare(b.Datetime) })
	return all
}

func (s *subject) listInterval(ctx context.Context, iv resourcesync.Interval) []resourcesync.Change {
	return must(collect(s.Changer.Changes(ctx, iv)))("Changes(%v)", iv)
}

func (s *subject) since(ctx context.Context) time.Time {
	return must(s.Changer.Since(ctx))("Since")
}

func (s *subject) put(ctx context.Context, resources ...resourcesync.Resource) {
	ensure(s.Put(ctx, resources...), "Options.Put")
}

func (s *subject) delete(ctx context.Context, keys ...string) {
	ensure(s.Delete(ctx, keys...), "Options.Delete")
}

// make returns a new version of a resource.
func (s *subject) make(key string) resourcesync.Resource {
	s.version++
	return newResource(key, s.version)
}

// spare returns the first n unused keys, near the beginning of most sets.
func (s *subject) spare(ctx context.Context, n int) []string {
	taken := members(s.list(ctx))
	for _, form := range []string{"!providertest-%03d", "providertest-%03d", "0providertest%03d"} {
		var keys []string
		for i := 0; len(keys) < n && i <= n+len(taken); i++ {
			key := fmt.Sprintf(form, i)
			if _, found := taken[key]; !found && s.allows(key) {
				keys = append(keys, key)
			}
		}
		if len(keys) == n {
			return keys
		}
	}
	fail("Options.Keys allows no keys like providertest-000 and 0providertest000, which the suite needs")
	return nil
}

// allows reports whether the backend can have a resource with this key.
func (s *subject) allows(key string) bool { return s.Keys == nil || s.Keys(key) }

// members returns resources by their keys.
func members(all []resourcesync.Resource) map[string]resourcesync.Resource {
	set := make(map[string]resourcesync.Resource, len(all))
	for _, r := range all {
		set[r.Key] = r
	}
	return set
}

// restore restores the set to the resources before.
func (s *subject) restore(ctx context.Context, before []resourcesync.Resource) {
	now, old := s.list(ctx), members(before)
	for _, r := range now {
		if _, found := old[r.Key]; !found {
			s.delete(ctx, r.Key)
		}
	}
	for _, b := range before {
		if !slices.ContainsFunc(now, b.Equal) {
			s.put(ctx, b)
		}
	}
}

// An edit is a change of the set; change is the type of its last event.
type edit struct {
	what   string
	key    string
	change resourcesync.ChangeType
	make   func()
}

// live makes a few changes, and calls visit with each after it is made.
func (s *subject) live(ctx context.Context, visit func(edit)) {
	keys := s.spare(ctx, 3)
	a, b, c := keys[0], keys[1], keys[2]
	for _, e := range []edit{
		{"creating a resource", a, resourcesync.Created, func() { s.put(ctx, s.make(a)) }},
		{"updating it", a, resourcesync.Updated, func() { s.put(ctx, s.make(a)) }},
		{"deleting it", a, resourcesync.Deleted, func() { s.delete(ctx, a) }},
		{"creating another", b, resourcesync.Created, func() { s.put(ctx, s.make(b)) }},
		{"putting a third in its place", c, resourcesync.Created, func() { s.delete(ctx, b); s.put(ctx, s.make(c)) }},
		{"deleting the third", c, resourcesync.Deleted, func() { s.delete(ctx, c) }},
	} {
		e.make()
		ensure(try(func() { visit(e) }), "after %s", e.what)
	}
}
