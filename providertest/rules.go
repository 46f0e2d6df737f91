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
	basis string // the declaration of package resourcesync that it follows from
	needs needs
	check func(ctx context.Context, s *subject) // calls fail if the rule is broken
	says  string
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
		[]rule{{"Provider/concurrent", "Provider", nil, providerConcurrent, "all methods are safe for concurrent use"}},
	)
}

// broken checks the rule, and returns an error if it is broken.
func (r rule) broken(ctx context.Context, s *subject) error {
	if err := try(func() { r.check(ctx, s) }); err != nil {
		return fmt.Errorf("%s: %w (resourcesync.%s: %s)", r.name, err, r.basis, r.says)
	}
	return nil
}

// A failure ends a check. The provider has broken a rule, or a call that the check needs has
// failed.
type failure struct{ error }

// fail ends the check. The message has the value that the provider returned and, unless the
// rule says it, the expected one. Arguments are printed as by show.
func fail(format string, args ...any) {
	for i := range args {
		args[i] = show(args[i])
	}
	panic(failure{fmt.Errorf(format, args...)})
}

// ensure ends the check if err is not nil. The other arguments say what failed.
func ensure(err error, format string, args ...any) {
	if err != nil {
		for i := range args {
			args[i] = show(args[i])
		}
		fail("%s: %w", fmt.Sprintf(format, args...), err)
	}
}

// must returns a function that returns v, or ends the check as ensure does.
func must[T any](v T, err error) func(format string, args ...any) T {
	return func(format string, args ...any) T {
		ensure(err, format, args...)
		return v
	}
}

// try calls f and returns its failure. Only the goroutine that calls try may fail, and not in
// the loop of a provider, which need not expect a panic.
func try(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.error
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// A need is a requirement of a rule's test.
type need struct {
	lack string // why the rule is skipped without it
	met  func(s *subject) bool
}

type needs []*need

func is[T any](v any) bool {
	_, ok := v.(T)
	return ok
}

var (
	stater            = &need{"the provider is not a Stater", func(s *subject) bool { return s.Stater != nil }}
	partStater        = &need{"the Stater is not a PartStater", func(s *subject) bool { return is[resourcesync.PartStater](s.Stater) }}
	cutter            = &need{"the provider is not a Cutter", func(s *subject) bool { return s.Cutter != nil }}
	changer           = &need{"the provider is not a Changer", func(s *subject) bool { return s.Changer != nil }}
	windower          = &need{"the provider is not a Windower", func(s *subject) bool { return is[resourcesync.Windower](s.Changer) }}
	opener            = &need{"the provider is not an Opener", func(s *subject) bool { return s.Opener != nil }}
	changeOpener      = &need{"the provider is not a ChangeOpener", func(s *subject) bool { return s.ChangeOpener != nil }}
	patchOpener       = &need{"the ChangeOpener is not a PatchOpener", func(s *subject) bool { return is[resourcesync.PatchOpener](s.ChangeOpener) }}
	checksummer       = &need{"the Opener is not a Checksummer", func(s *subject) bool { return is[resourcesync.Checksummer](s.Opener) }}
	changeChecksummer = &need{"the ChangeOpener is not a Checksummer", func(s *subject) bool { return is[resourcesync.Checksummer](s.ChangeOpener) }}
	watcher           = &need{"the provider is not a Watcher", func(s *subject) bool { return s.Watcher != nil }}
	coverer           = &need{"the provider is not a Coverer", func(s *subject) bool { return s.Coverer != nil }}
	archiver          = &need{"the provider is not an Archiver", func(s *subject) bool { return s.Archiver != nil }}
	changeArchiver    = &need{"the provider is not a ChangeArchiver", func(s *subject) bool { return s.ChangeArchiver != nil }}
	editing           = &need{"Options.Put or Options.Delete is nil", func(s *subject) bool { return s.Put != nil && s.Delete != nil }}
	exactStat         = &need{"Options.ExactStat is false", func(s *subject) bool { return s.ExactStat }}
	wanted            = &need{"Options.Want is nil", func(s *subject) bool { return s.Want != nil }}
	nothing           = &need{"the set has resources", func(s *subject) bool { return s.empty }}
)

// lacks returns the reason to skip a rule with these needs, or "".
func (s *subject) lacks(needs needs) string {
	for _, n := range needs {
		if !n.met(s) {
			return n.lack
		}
	}
	return ""
}

// providerConcurrent runs the checks of other rules concurrently.
func providerConcurrent(ctx context.Context, s *subject) {
	const times = 2
	var sound []rule
	for _, r := range rules() {
		switch r.name {
		case "Resources/order", "Stat/count", "StatParts/adjacent", "Cuts/size", "Changes/order", "Since/steady", "Windows/contiguous",
			"Open/bytes", "OpenChange/bytes", "OpenPatch/bytes", "Checksum/bytes", "Covers/resources", "Snapshots/order", "ArchivedChanges/interval":
			// A rule that is broken anyway is reported elsewhere.
			if s.lacks(r.needs) == "" && r.broken(ctx, s) == nil {
				sound = append(sound, r)
			}
		}
	}
	var wg sync.WaitGroup
	broken := make([]error, times*len(sound))
	for i := range broken {
		wg.Go(func() {
			r := sound[i%len(sound)]
			if err := try(func() { r.check(ctx, s) }); err != nil {
				broken[i] = fmt.Errorf("%s: %w", r.name, err)
			}
		})
	}
	wg.Wait()
	ensure(errors.Join(broken...), "while other methods are called")
}
