package destination

import (
	"fmt"
	"hash/maphash"
	"io"
	"time"

	"github.com/resourcesync-go/resourcesync/destination/internal/pack"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/internal/webclient"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A dump can link to a copy of the manifest of a package (rel="contents"), which is read instead
// of it. Some Sources write other paths into the copy. So the two are compared when the package has
// been received, and the manifest in the package decides.

// manifestSeed is the seed of the sums of manifests.
var manifestSeed = maphash.MakeSeed()

// maxMemberBytes is the maximum number of bytes of the URIs and paths of a manifest that differs
// from its copy. They are in memory.
const maxMemberBytes = 48 << 20

// members has the paths of the resources in a package, by memberKey.
type members map[string]string

// memberKey is the key of a resource, or of one of its changes in a package.
func memberKey(uri string, datetime time.Time) string {
	if datetime.IsZero() {
		return uri
	}
	return fmt.Sprintf("%s %d", uri, datetime.UnixNano()) // a URI has no space
}

// readMembers returns the paths in the manifest of the package at uri, unless its text has the sum
// copied. If the package has no manifest that can be read, the copy is used.
func readMembers(z *pack.Package, uri string, copied uint64) members {
	if sum, err := manifestSum(z); err != nil || sum == copied {
		return nil
	}
	text, err := z.Open(pack.Manifest)
	if err != nil {
		return nil
	}
	defer text.Close()
	reader := tree.Reader{Report: func(string, *rsxml.SyntaxError) {}} // the copy has been reported
	d, err := reader.Decode(uri, webclient.Limit(text, maxManifest, fetch.ErrLong))
	if err != nil {
		return nil
	}
	found, size := make(members), 0
	for e, err := range d.Entries() {
		if err != nil {
			return nil
		}
		if e.Metadata.Path == "" {
			continue
		}
		if size += len(e.Loc) + len(e.Metadata.Path); size > maxMemberBytes || len(found) > 2*pack.MaxEntries {
			break // the others are requested
		}
		found[e.Loc] = e.Metadata.Path
		found[memberKey(e.Loc, e.Metadata.Datetime)] = e.Metadata.Path
	}
	return found
}

// manifestSum returns the sum of the manifest in a package.
func manifestSum(z *pack.Package) (uint64, error) {
	text, err := z.Open(pack.Manifest)
	if err != nil {
		return 0, err
	}
	defer text.Close()
	var sum maphash.Hash
	sum.SetSeed(manifestSeed)
	_, err = io.Copy(&sum, webclient.Limit(text, maxManifest, fetch.ErrLong))
	return sum.Sum64(), err
}

// member returns the path of the content of t in the package.
func (o *opened) member(t *task) (string, bool) {
	if o.members == nil {
		return t.Member, true
	}
	c := &t.Change
	path, ok := o.members[memberKey(c.Resource.URI, c.Datetime)]
	if !ok {
		path, ok = o.members[c.Resource.URI]
	}
	return path, ok
}
