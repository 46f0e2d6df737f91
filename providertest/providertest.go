// Package providertest is the contract of [resourcesync.Provider] and of its
// upgrades as a test suite, in the manner of testing/fstest.
//
// Implementations that can be filled with resources of the suite's choosing are
// tested by [Run], which has a subtest for each rule. Implementations over data
// that they cannot choose, such as a view of an application's own table, are
// tested by [Test].
//
// The upgrades that are tested are those that the implementation has. Rules that
// are about changes are tested if the options say how to make some.
package providertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// Options say more about the provider under test. The zero value will do.
type Options struct {
	// Stater, Cutter, Changer, Opener, ChangeOpener, Watcher, Coverer, Archiver
	// and ChangeArchiver are upgrades that the provider is used with but does not have itself, as
	// in rshttp.Set. If nil, the provider's own is tested, if it has one. A
	// Windower is looked for where the Changer is found, a Checksummer where
	// the Opener and the ChangeOpener are, a PatchOpener where the latter is.
	Stater         resourcesync.Stater
	Cutter         resourcesync.Cutter
	Changer        resourcesync.Changer
	Opener         resourcesync.Opener
	ChangeOpener   resourcesync.ChangeOpener
	Watcher        resourcesync.Watcher
	Coverer        resourcesync.Coverer
	Archiver       resourcesync.Archiver
	ChangeArchiver resourcesync.ChangeArchiver

	// Put adds resources to the provider's set, each in place of the one
	// with its key if there is one, and Delete removes resources. They
	// return when the changes can be read, and are also called while
	// another goroutine is reading. If either is nil, the rules that are
	// about changes are not tested. Where no two resources can have the same
	// URI, Put refuses the second with errors.ErrUnsupported.
	Put    func(ctx context.Context, resources ...resourcesync.Resource) error
	Delete func(ctx context.Context, keys ...string) error

	// Want are the resources that Test is to find, in any order. If nil,
	// what the provider yields is taken to be complete. Run does not look
	// at it.
	Want []resourcesync.Resource

	// Equal reports whether a resource that the provider yields is the one
	// that was put, or wanted, for providers that do not keep all of one. If
	// nil, resourcesync.Resource.Equal is used.
	Equal func(got, want resourcesync.Resource) bool

	// ExactStat claims that the Stat of a range changes when something in
	// the range does, and at no other time.
	ExactStat bool

	// Wait is how long to wait for what happens in the background: for a
	// Watcher to wake, for goroutines to end. If zero, 10 seconds is used.
	Wait time.Duration
}

// Test tests p and returns an error that joins all broken rules, each with its
// name, such as Resources/order, or nil. opts may be nil.
//
// Every rule lists the set several times: it should have some thousand resources
// at most, and nothing else should change it. With Put and Delete, Test makes
// changes and undoes them.
func Test(ctx context.Context, p resourcesync.Provider, opts *Options) error {
	s := newSubject(p, opts)
	before, err := s.list(ctx)
	if err != nil {
		return fmt.Errorf("providertest: the resources cannot be listed: %w", err)
	}
	s.want = s.opts.Want
	var broken []error
	for _, r := range rules() {
		if s.lacks(r.needs, before) != "" {
			continue
		}
		if err := r.check(ctx, s); err != nil {
			broken = append(broken, fmt.Errorf("%s: %w", r.name, err))
		}
		if r.needs&editing != 0 {
			if err := s.restore(ctx, before); err != nil {
				return errors.Join(append(broken, fmt.Errorf("providertest: changes cannot be undone after %s: %w", r.name, err))...)
			}
		}
	}
	return errors.Join(broken...)
}

// Run tests a provider by subtests, one for each rule.
//
// newProvider returns a provider whose set consists of the given resources, in
// no particular order, and what the suite is to know about it, which may be nil.
// It is called for each subtest. The resources have awkward keys and, among
// them, every field of a resource; their bytes are those of [Content],
// and those of patches that they link are those of [Patch].
func Run(t *testing.T, newProvider func(t *testing.T, resources []resourcesync.Resource) (resourcesync.Provider, *Options)) {
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			var resources []resourcesync.Resource
			if r.needs&nothing == 0 {
				resources = awkward()
			}
			p, opts := newProvider(t, keepAll(resources))
			s := newSubject(p, opts)
			s.want = resources
			if why := s.lacks(r.needs, resources); why != "" {
				t.Skip(why)
			}
			if err := r.check(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
}

// A subject is a provider under test.
type subject struct {
	opts           Options
	want           []resourcesync.Resource // nil if not known
	provider       resourcesync.Provider
	stater         resourcesync.Stater
	cutter         resourcesync.Cutter
	changer        resourcesync.Changer
	windower       resourcesync.Windower
	opener         resourcesync.Opener
	changeOpener   resourcesync.ChangeOpener
	watcher        resourcesync.Watcher
	coverer        resourcesync.Coverer
	archiver       resourcesync.Archiver
	changeArchiver resourcesync.ChangeArchiver

	// What the openers are besides.
	patchOpener                    resourcesync.PatchOpener
	checksummer, changeChecksummer resourcesync.Checksummer

	version int // of the resources that the suite has made
}

func newSubject(p resourcesync.Provider, opts *Options) *subject {
	s := &subject{provider: p}
	if opts != nil {
		s.opts = *opts
	}
	s.opts.Wait = cmp.Or(s.opts.Wait, 10*time.Second)
	if s.opts.Equal == nil {
		s.opts.Equal = resourcesync.Resource.Equal
	}
	s.stater = upgrade(s.opts.Stater, p)
	s.cutter = upgrade(s.opts.Cutter, p)
	s.changer = upgrade(s.opts.Changer, p)
	s.windower, _ = s.changer.(resourcesync.Windower)
	s.opener = upgrade(s.opts.Opener, p)
	s.changeOpener = upgrade(s.opts.ChangeOpener, p)
	s.patchOpener, _ = s.changeOpener.(resourcesync.PatchOpener)
	s.checksummer, _ = s.opener.(resourcesync.Checksummer)
	s.changeChecksummer, _ = s.changeOpener.(resourcesync.Checksummer)
	s.watcher = upgrade(s.opts.Watcher, p)
	s.coverer = upgrade(s.opts.Coverer, p)
	s.archiver = upgrade(s.opts.Archiver, p)
	s.changeArchiver = upgrade(s.opts.ChangeArchiver, p)
	return s
}

// upgrade returns explicit, or else p itself if it is a T: the way in which a
// Source finds upgrades.
func upgrade[T comparable](explicit T, p resourcesync.Provider) T {
	var none T
	if explicit != none {
		return explicit
	}
	t, _ := p.(T)
	return t
}
