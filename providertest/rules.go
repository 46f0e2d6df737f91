package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/resourcesync-go/resourcesync"
)

// A rule is a sentence of the contract: a row of a table.
type rule struct {
	name  string // the method it is about, and a word
	needs need
	check func(ctx context.Context, s *subject) error
}

// A need is a set of requirements of a rule's test.
type need uint

const (
	stater need = 1 << iota
	partStater
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
	wanted    // the expected resources are known
	nothing   // a set without resources
)

// lacks returns the first of these needs that is not met, for a set of these resources, or
// "".
func (s *subject) lacks(needs need, resources []resourcesync.Resource) string {
	for _, n := range []struct {
		need need
		have bool
		what string
	}{
		{stater, s.stater != nil, "the provider is not a Stater"},
		{partStater, s.partStater != nil, "the Stater is not a PartStater"},
		{cutter, s.cutter != nil, "the provider is not a Cutter"},
		{changer, s.changer != nil, "the provider is not a Changer"},
		{windower, s.windower != nil, "the provider is not a Windower"},
		{opener, s.opener != nil, "the provider is not an Opener"},
		{changeOpener, s.changeOpener != nil, "the provider is not a ChangeOpener"},
		{patchOpener, s.patchOpener != nil, "the ChangeOpener is not a PatchOpener"},
		{checksummer, s.checksummer != nil, "the Opener is not a Checksummer"},
		{changeChecksummer, s.changeChecksummer != nil, "the ChangeOpener is not a Checksummer"},
		{watcher, s.watcher != nil, "the provider is not a Watcher"},
		{coverer, s.coverer != nil, "the provider is not a Coverer"},
		{archiver, s.archiver != nil, "the provider is not an Archiver"},
		{changeArchiver, s.changeArchiver != nil, "the provider is not a ChangeArchiver"},
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

// concurrent: all methods are safe for concurrent use. It runs the checks of other rules
// concurrently.
func providerConcurrent(ctx context.Context, s *subject) error {
	const each = 2
	var sound []rule
	for _, r := range []rule{
		{"Resources", 0, resourcesOrder},
		{"Stat", stater, statCount},
		{"StatParts", partStater, statPartsAdjacent},
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
		// A rule that is broken anyway is reported elsewhere.
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
