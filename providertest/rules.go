package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/resourcesync-go/resourcesync"
)

// A rule is a sentence of the contract. check returns how it is broken.
type rule struct {
	name  string // the method it is about, and a word
	needs need
	check func(ctx context.Context, s *subject) error
}

// A need says what a rule cannot be tested without.
type need uint

const (
	stater need = 1 << iota
	cutter
	changer
	windower
	opener
	changeOpener
	patchOpener
	checksummer
	changeChecksummer
	watcher
	coverer
	archiver
	changeArchiver
	editing   // Options.Put and Options.Delete
	exactStat // Options.ExactStat
	wanted    // knowledge of the resources
	nothing   // a set without resources
)

// lacks returns what is missing for rules with these needs, of a set of these
// resources, or "".
func (s *subject) lacks(needs need, resources []resourcesync.Resource) string {
	for _, n := range []struct {
		need need
		have bool
		what string
	}{
		{stater, s.stater != nil, "the provider is no Stater"},
		{cutter, s.cutter != nil, "the provider is no Cutter"},
		{changer, s.changer != nil, "the provider is no Changer"},
		{windower, s.windower != nil, "the provider is no Windower"},
		{opener, s.opener != nil, "the provider is no Opener"},
		{changeOpener, s.changeOpener != nil, "the provider is no ChangeOpener"},
		{patchOpener, s.patchOpener != nil, "the ChangeOpener is no PatchOpener"},
		{checksummer, s.checksummer != nil, "the Opener is no Checksummer"},
		{changeChecksummer, s.changeChecksummer != nil, "the ChangeOpener is no Checksummer"},
		{watcher, s.watcher != nil, "the provider is no Watcher"},
		{coverer, s.coverer != nil, "the provider is no Coverer"},
		{archiver, s.archiver != nil, "the provider is no Archiver"},
		{changeArchiver, s.changeArchiver != nil, "the provider is no ChangeArchiver"},
		{editing, s.opts.Put != nil && s.opts.Delete != nil, "Options.Put or Options.Delete is nil"},
		{exactStat, s.opts.ExactStat, "Options.ExactStat is false"},
		{wanted, s.want != nil, "Options.Want is nil"},
		{nothing, len(resources) == 0, "the set has resources"},
	} {
		if needs&n.need != 0 && !n.have {
			return n.what
		}
	}
	return ""
}

func rules() []rule {
	return slices.Concat(
		ofResources.rules(), resourceRules, fieldRules,
		statRules,
		cutRules,
		ofChanges.rules(), changeRules,
		windowRules,
		openRules, checksumRules, patchRules,
		watchRules,
		coverRules,
		archiveRules, changeArchiveRules,
		[]rule{{"Provider/concurrent", 0, providerConcurrent}},
	)
}

// concurrent: all methods are safe for concurrent use. What they are asked at the
// same time is what some of the other rules ask them one after the other.
func providerConcurrent(ctx context.Context, s *subject) error {
	const each = 2
	var sound []rule
	for _, r := range []rule{
		{"Resources", 0, resourcesOrder},
		{"Stat", stater, statCount},
		{"Cuts", cutter, cutsSize},
		{"Changes", changer, changesOrder},
		{"Since", changer, sinceSteady},
		{"Windows", windower, windowsContiguous},
		{"Open", opener, openBytes},
		{"OpenChange", changeOpener | changer, openChangeBytes},
		{"OpenPatch", patchOpener | changer, openPatchBytes},
		{"Checksum", opener | checksummer, checksumBytes},
		{"Covers", coverer, coversResources},
		{"Snapshots", archiver, snapshotsOrder},
		{"ArchivedChanges", changeArchiver, archivedInterval},
	} {
		// What does not hold anyway has been found already.
		if s.lacks(r.needs, nil) == "" && r.check(ctx, s) == nil {
			sound = append(sound, r)
		}
	}
	var wg sync.WaitGroup
	broken := make([]error, each*len(sound))
	for i := range broken {
		wg.Go(func() {
			r := sound[i%len(sound)]
			if err := r.check(ctx, s); err != nil {
				broken[i] = fmt.Errorf("%s while other methods are called: %w", r.name, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(broken...)
}
