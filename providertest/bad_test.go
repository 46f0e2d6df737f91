package providertest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/resourcesync-go/resourcesync"
)

// bad is a good provider with one fault. rules are those that it must be found
// to break, and no others.
type bad struct {
	name  string
	rules string
	empty bool // begins with no resources
	bend  func(after context.Context, b *bent, o *Options) resourcesync.Provider
}

func TestBadProviders(t *testing.T) {
	tested := map[string]bool{}
	for _, b := range slices.Concat(badResources(), badFields(), badStats, badCuts, badChanges(), badWindows, badArchives, badChangeArchives, badOthers) {
		for rule := range strings.FieldsSeq(b.rules) {
			tested[rule] = true
		}
		t.Run(b.rules+"/"+b.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				resources := awkward()[:26]
				if b.empty {
					resources = nil
				}
				f, opts := newFull(t, resources)
				after, end := context.WithCancel(t.Context())
				defer end()
				p := b.bend(after, newBent(f), opts)
				err := Test(t.Context(), p, opts)
				if got := strings.Join(broken(err), " "); got != b.rules {
					t.Errorf("broken: %q, want %q\n%v", got, b.rules, err)
				}
			})
		})
	}
	for _, r := range rules() {
		if !tested[r.name] {
			t.Errorf("no bad provider breaks %s", r.name)
		}
	}
}

// broken returns the names of the rules that err says are broken.
func broken(err error) (names []string) {
	if err == nil {
		return nil
	}
	all, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{err.Error()}
	}
	for _, err := range all.Unwrap() {
		name, _, _ := strings.Cut(err.Error(), ": ")
		names = append(names, name)
	}
	return names
}

// ours reports whether the resource with this key is one that the suite makes to
// see it change.
func ours(key string) bool { return strings.HasPrefix(key, "!providertest") }
