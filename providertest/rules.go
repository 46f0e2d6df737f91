package providertest

import (
	"context"
	"slices"

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
	watcher
	coverer
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
		{watcher, s.watcher != nil, "the provider is no Watcher"},
		{coverer, s.coverer != nil, "the provider is no Coverer"},
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
		ofResources.rules(), resourceRules,
		statRules,
		cutRules,
		ofChanges.rules(), changeRules,
		windowRules,
		openRules,
		watchRules,
		coverRules,
	)
}
