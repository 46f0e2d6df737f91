package sqlstore

import (
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

// TestAllocations: reading allocates one string for each resource, and little else.
func TestAllocations(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			set := e.make(t).open(t, nil).mustSet(t, "", nil)
			const n = 600
			var resources []resourcesync.Resource
			for i := range n {
				resources = append(resources, article(i))
			}
			if err := set.Put(t.Context(), resources...); err != nil {
				t.Fatal(err)
			}
			for name, read := range map[string]func(){
				"resources": func() {
					for _, err := range set.Resources(t.Context(), resourcesync.Range{}) {
						if err != nil {
							t.Fatal(err)
						}
					}
				},
				"changes": func() {
					for _, err := range set.Changes(t.Context(), resourcesync.Interval{}) {
						if err != nil {
							t.Fatal(err)
						}
					}
				},
			} {
				if got := testing.AllocsPerRun(5, read); got > n+200 {
					t.Errorf("%s: %.0f allocations for %d rows", name, got, n)
				}
			}
		})
	}
}
