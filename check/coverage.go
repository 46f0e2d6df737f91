package check

import (
	"context"
	"hash/maphash"
	"net/url"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/linkheader"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A resource in the Resource List of a set is also in its Resource Dump (section 9), and a
// resource that links to a Capability List is in the lists of that set (section 6.3.3).

// A dumped is the Resource Dump of a set, as far as it has been read.
type dumped struct {
	at             time.Time // the earliest of its documents
	packages, read int       // packages, and manifests of them that have been read
}

// since notes the time of a Resource Dump or of a manifest.
func (du *dumped) since(at time.Time) {
	if !at.IsZero() && (du.at.IsZero() || at.Before(du.at)) {
		du.at = at
	}
}

// packed receives an entry of a manifest of the Resource Dump, and nil at its end.
func (st *set) packed(d *document, e *rsxml.Entry) {
	if e == nil {
		st.dump.read++
		st.dump.since(d.head.Metadata.At)
		return
	}
	if r := st.tracked.get(e.Loc); r != nil {
		r.packed = true
	}
}

// compareDump reports resources that are listed, but in no package: they are in the list at a second
// reading, too, and have neither changed nor been listed since the dump.
func (st *set) compareDump(ctx context.Context) error {
	du := &st.dump
	if st.incomplete || du.packages == 0 || du.read < du.packages || du.at.IsZero() {
		return nil
	}
	absent := make(map[string]map[uint64]bool) // by document
	for hash, r := range st.tracked.known {
		known := !r.listedAt.IsZero() && !r.listedAt.After(du.at) || !st.from.IsZero() && !st.from.After(du.at)
		if !r.listed || r.packed || r.later || !known || r.modified == 0 || r.modified >= du.at.Unix() || r.last != nil && !r.last.time.Before(du.at) {
			continue
		}
		if absent[r.place.document] == nil {
			absent[r.place.document] = make(map[uint64]bool)
		}
		absent[r.place.document][hash] = true
	}
	documents := 0
	for name, hashes := range absent {
		if documents++; documents > maxRereads {
			st.skip("%s and further lists were not compared with the Resource Dump", name)
			break
		}
		st.reread(ctx, name, func(e *rsxml.Entry, at place) {
			if hashes[hashOf(e.Loc)] {
				st.add("dump-incomplete", at, "", "%s has not changed since %s, but no package of the Resource Dump of %s contains it",
					e.Loc, e.LastMod.Format(time.RFC3339), du.at.Format(time.RFC3339))
			}
		})
	}
	return ctx.Err()
}

// A claim is a link from a resource to a Capability List.
type claim struct {
	resource, list string
	at             place
}

// claimed notes the links to Capability Lists in the header of a resource.
func (c *checker) claimed(resource string, header []string, at place) {
	base, err := url.Parse(resource)
	if err != nil {
		return
	}
	for l := range linkheader.Find(linkheader.Parse(header...), resourcesync.RelResourceSync) {
		if target, err := base.Parse(l.Target); err == nil {
			c.claim(resource, target.String(), at)
		}
	}
}

// maxClaims is the maximum number of claims that are judged, and maxCovered the maximum
// number of resources of all sets that are kept for this.
const (
	maxClaims  = 10_000
	maxCovered = 1 << 20
)

func (c *checker) claim(resource, list string, at place) {
	c.coverage.Lock()
	defer c.coverage.Unlock()
	if len(c.claims) < maxClaims {
		c.claims = append(c.claims, claim{resource, list, at})
	}
}

// A cover has the hashes of the resources of a set, in order, up to a largest hash, or all.
type cover struct {
	below  uint64
	hashes []uint64
}

// covers records the resources that the lists of a set cover.
func (c *checker) covers(list string, st *set) {
	c.coverage.Lock()
	defer c.coverage.Unlock()
	if st.incomplete || c.covered+len(st.tracked.known) > maxCovered {
		return
	}
	co := cover{below: st.tracked.below}
	for hash := range st.tracked.known {
		co.hashes = append(co.hashes, hash)
	}
	slices.Sort(co.hashes)
	c.covered += len(co.hashes)
	if c.sets == nil {
		c.sets = make(map[string]cover)
	}
	c.sets[list] = co
}

// judgeClaims reports resources that the Capability Lists to which they link do not cover.
func (c *checker) judgeClaims() {
	for _, cl := range c.claims {
		co, known := c.sets[cl.list]
		hash := hashOf(cl.resource)
		if !known || co.below > 0 && hash >= co.below {
			continue
		}
		if _, found := slices.BinarySearch(co.hashes, hash); !found {
			c.add("link-uncovered", cl.at, "", "%s links to the Capability List %s, but is not in its lists", cl.resource, cl.list)
		}
	}
}

// hashOf returns the hash by which resources are tracked.
func hashOf(uri string) uint64 { return maphash.String(seed, uri) }
