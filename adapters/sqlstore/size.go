package sqlstore

import (
	"hash/fnv"
	"net/url"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A sizer finds out what a store keeps beside a body: how long its entries are,
// and where its URI leads.
type sizer struct {
	decoder decoder
	current resourcesync.Resource
	entry   rsxml.Entry
	scratch []byte
}

// anyHead is the head of a document whose entries are written in full.
var anyHead = rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ResourceList}}

// change returns the size of the Change List entry of ev. The resource of its
// body is current from then on.
func (z *sizer) change(ev *event) (size int64, err error) {
	if z.current, err = z.decoder.decode(string(ev.body)); err != nil {
		return 0, err
	}
	z.entry.SetChange(&resourcesync.Change{Type: ev.change, Datetime: moment(ev.at), Resource: z.current})
	return z.size(), nil
}

// resource returns the size of the Resource List entry of the current resource.
func (z *sizer) resource() int64 {
	z.entry.SetResource(&z.current)
	return z.size()
}

func (z *sizer) size() int64 {
	z.scratch, _ = rsxml.AppendEntry(z.scratch[:0], &anyHead, &z.entry)
	return int64(len(z.scratch))
}

// place returns the place of the current resource.
func (z *sizer) place() int64 {
	u, err := url.Parse(z.current.URI)
	if err != nil {
		return 0
	}
	return placeOf(u)
}

// farewell returns the body of the deletion of a resource: what was recorded, if
// it has a URI, and else the URI that the resource had.
func (z *sizer) farewell(recorded, body []byte) ([]byte, error) {
	if recorded != nil {
		if r, err := z.decoder.decode(string(recorded)); err != nil || r.URI != "" {
			return recorded, err
		}
	}
	r, err := z.decoder.decode(string(body))
	if err != nil {
		return nil, err
	}
	return appendBody(nil, &resourcesync.Resource{URI: r.URI}), nil
}

// placeOf returns a hash of where requests for u lead: its path, decoded, and its
// query, as it is written. It is 0 for a URI without a path, such as a URN, where
// no request leads.
func placeOf(u *url.URL) int64 {
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
