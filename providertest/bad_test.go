package providertest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	testneeds "github.com/resourcesync-go/resourcesync/internal/needs"
)

// bad is a good provider with one fault. rules are the rules that it must be found to
// break, and no others. If it is a single one, everyday runs look for others only in its
// group.
type bad struct {
	name  string
	rules string
	bend  func(b *bent)
}

func TestBadProviders(t *testing.T) {
	everyday := testneeds.Size(0, 1) == 0
	tested := map[string]bool{}
	for _, tt := range slices.Concat(badResources(), badFields(), badStats, badCuts, badChanges(), badWindows, badArchives, badChangeArchives, badOthers) {
		for rule := range strings.FieldsSeq(tt.rules) {
			tested[rule] = true
		}
		t.Run(tt.rules+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				resources := awkward()[:26]
				if strings.Contains(tt.rules, "/empty") {
					resources = nil
				}
				after, end := context.WithCancel(t.Context())
				defer end()
				b := newBent(t, after, resources)
				tt.bend(b)
				rules := rules()
				if single := !strings.Contains(tt.rules, " "); single && everyday {
					rules = slices.DeleteFunc(rules, func(r rule) bool { return group(r.name) != group(tt.rules) })
				}
				err := test(t.Context(), b.as, b.opts, rules)
				if got := strings.Join(broken(err), " "); got != tt.rules {
					t.Errorf("broken: %q, want %q\n%v", got, tt.rules, err)
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

// group returns the group of a rule with this name.
func group(name string) string {
	group, _, _ := strings.Cut(name, "/")
	return group
}

// broken returns the names of the broken rules in err.
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

// ours reports whether the suite has created the resource with this key to change it.
func ours(key string) bool { return strings.HasPrefix(key, "!providertest") }
