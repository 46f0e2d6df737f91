package partition_test

import (
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/partition"
)

// A page of a Resource List is named after its range of keys, and a Change List after the
// time at which it begins.
func Example() {
	name := partition.FormatRange(resourcesync.Range{From: "papers/1", To: "papers/2"})
	r, ok := partition.ParseRange(name)
	fmt.Println(name, r, ok)
	fmt.Println(partition.FormatTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))
	// Output:
	// cGFwZXJzLzE~7.Mg {papers/1 papers/2} true
	// 20260301T120000.000000000Z
}
