package sqlstore

import (
	"hash/fnv"
	"net/url"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A sizer measures the entries of resources and changes in documents.
type sizer struct {
	entry   rsxml.Entry
	scratch []byte
}

// anyHead is the head of a document whose entries are written in full.
var anyHead = rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ResourceList}}

// change returns the size of the Change List entry of e, in bytes.
func (z *sizer) change(e *changes.Event) int64 {
	z.entry.SetChange(&resourcesync.Change{Type: e.Type, Datetime: moment(e.At), Resource: *e.Resource})
	return z.size()
}

// resource returns the size of the Resource List entry of r, in bytes.
func (z *sizer) resource(r *resourcesync.Resource) int64 {
	z.entry.SetResource(r)
	return z.size()
}

func (z *sizer) size() int64 {
	z.scratch, _ = rsxml.AppendEntry(z.scratch[:0], &anyHead, &z.entry)
	return int64(len(z.scratch))
}

// placeOf returns the place of the resource at uri, or 0 if it is no URI.
func placeOf(uri string) int64 {
	u, err := url.Parse(uri)
	if err != nil {
		return 0
	}
	return placeOfURL(u)
}

// placeOfURL returns a hash of the decoded path and the query of u. It is 0 for a URI
// without a path, such as a URN, which no request can have.
func placeOfURL(u *url.URL) int64 {
	if u.Opaque != "" {
		return 0
	}
	path := u.Path
	if path == "" {
		path = "/"
	}
	h := fnv.New64a()
	h.Write([]byte(path))
	h.Write([]byte{0})
	h.Write([]byte(u.RawQuery))
	return int64(h.Sum64() | 1) // never 0
}
