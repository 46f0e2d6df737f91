package check

import (
	"fmt"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// isPart reports whether an entry of a urlset is that of an index: it leads to a document with the
// capability of this one.
func (d *document) isPart(e *rsxml.Entry) bool { return !d.head.Index && tree.IsPart(&d.head, e) }

// missedIn says what harvesters miss that read an index as a list.
var missedIn = map[resourcesync.Capability]string{
	resourcesync.ResourceList: "resources", resourcesync.ResourceDump: "packages", resourcesync.ChangeList: "changes", resourcesync.ChangeDump: "packages",
}

// endParts reports an index that is written as a list.
func (r *entryRules) endParts() {
	if r.parts.count > 0 {
		what := fmt.Sprint("the ", missedIn[r.capability], " in them")
		r.add("index-as-urlset", r.parts.first, "", "%d of %d entries of the urlset are %s documents, such as %s: harvesters take them for entries of a list, and miss %s",
			r.parts.count, r.entries, r.capability, r.part, what)
	}
}
