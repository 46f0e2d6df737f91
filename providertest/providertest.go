// Package providertest is the contract of [resourcesync.Provider] and its upgrades as a
// test suite, like testing/fstest.
//
// [Run] tests implementations into which the suite can put resources. It has a subtest for
// each rule. [Test] tests implementations over existing data, such as a view of an
// application's table.
//
// A rule has the name of a group and a word, such as Resources/order. A failure says what the
// provider has returned, and then the rule and the declaration of package resourcesync that it
// follows from. Rules about an upgrade that the provider lacks are skipped, and so are rules
// about changes if the options have no functions that change the set. These are the groups:
//
//   - Resources: order, keys, ranges, fields, and iteration
//   - Stat and StatParts: counts, times and versions
//   - Cuts: the division into pages, and how it follows changes
//   - Changes, Since and Windows: the journal, its intervals and its windows
//   - Open, OpenChange, OpenPatch and Checksum: content of resources, versions and patches
//   - Watch: calls after changes
//   - Covers: URLs of the set
//   - Archives and Snapshots, ArchivedWindows and ArchivedChanges: archives
//   - Provider: concurrent use of all methods
package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// Options are the optional arguments of [Test] and of the function given to [Run].
type Options struct {
	// Stater, Cutter, Changer, Opener, ChangeOpener, Watcher, Coverer, Archiver and
	// ChangeArchiver are upgrades that another value implements, as in rshttp.Set. If nil, the
	// provider's own is tested, if it has one. The Changer may also be a Windower, the Stater
	// a PartStater, the Opener and the ChangeOpener a Checksummer, and the ChangeOpener a
	// PatchOpener.
	Stater         resourcesync.Stater
	Cutter         resourcesync.Cutter
	Changer        resourcesync.Changer
	Opener         resourcesync.Opener
	ChangeOpener   resourcesync.ChangeOpener
	Watcher        resourcesync.Watcher
	Coverer        resourcesync.Coverer
	Archiver       resourcesync.Archiver
	ChangeArchiver resourcesync.ChangeArchiver

	// Put adds resources to the provider's set and replaces those with the same
	// keys; Delete removes resources. They must return when the changes can be read.
	// They are also called while other goroutines read. If either is nil, the rules
	// about changes are not tested. If resources cannot share a URI, Put must refuse
	// the second one with errors.ErrUnsupported.
	Put    func(ctx context.Context, resources ...resourcesync.Resource) error
	Delete func(ctx context.Context, keys ...string) error

	// Keys reports whether the backend can have a resource with this key, for backends that
	// restrict keys. Run then expects no other resources, and neither Run nor Test creates
	// any. If nil, the backend can have every key of a resource.
	Keys func(key string) bool

	// Want are the resources that Test expects, in any order. If nil, Test assumes
	// that the provider yields the complete set. Run ignores it.
	Want []resourcesync.Resource

	// Equal reports whether a yielded resource matches the resource that was put or
	// is wanted, for providers that do not keep all fields. If nil,
	// resourcesync.Resource.Equal is used.
	Equal func(got, want resourcesync.Resource) bool

	// ExactStat claims that the Stat of a range changes only if something in the
	// range changes.
	ExactStat bool

	// Wait is the maximum time to wait for events in the background, such as a call
	// by a Watcher or the end of a goroutine. If zero, 10 seconds is used.
	Wait time.Duration
}

// Test tests p and returns an error that joins all broken rules, each with its
// name, such as Resources/order, or nil. opts may be nil.
//
// Each rule lists the set several times, so the set should have at most some thousand
// resources. Nothing else must change it during the test. With Put and Delete, Test changes
// the set and restores it.
func Test(ctx context.Context, p resourcesync.Provider, opts *Options) error {
	return test(ctx, p, opts, rules())
}

// test is like Test, for some of the rules.
func test(ctx context.Context, p resourcesync.Provider, opts *Options, rules []rule) error {
	s := newSubject(p, opts)
	var before []resourcesync.Resource
	if err := try(func() { before = s.list(ctx) }); err != nil {
		return fmt.Errorf("providertest: listing the resources: %w", err)
	}
	s.empty = len(before) == 0
	var broken []error
	for _, r := range rules {
		if s.lacks(r.needs) != "" {
			continue
		}
		if err := r.broken(ctx, s); err != nil {
			broken = append(broken, err)
		}
		if slices.Contains(r.needs, editing) {
			if err := try(func() { s.restore(ctx, before) }); err != nil {
				return errors.Join(append(broken, fmt.Errorf("providertest: undoing changes after %s: %w", r.name, err))...)
			}
		}
	}
	return errors.Join(broken...)
}

// Run tests a provider in subtests, one for each rule.
//
// It calls newProvider for each subtest. newProvider returns a provider whose set has the
// given resources, which are in no particular order, and options, which may be nil. The
// resources have awkward keys, and together use every field of a resource. Those for which
// Options.Keys reports false must be left out. [Content] returns their content, and [Patch]
// the content of their patches.
func Run(t *testing.T, newProvider func(t *testing.T, resources []resourcesync.Resource) (resourcesync.Provider, *Options)) {
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			var resources []resourcesync.Resource
			if !slices.Contains(r.needs, nothing) {
				resources = awkward()
			}
			p, opts := newProvider(t, keep(resources))
			s := newSubject(p, opts)
			s.Want = slices.DeleteFunc(resources, func(r resourcesync.Resource) bool { return !s.allows(r.Key) })
			s.empty = len(s.Want) == 0
			if lack := s.lacks(r.needs); lack != "" {
				t.Skip(lack)
			}
			if err := r.broken(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
}
