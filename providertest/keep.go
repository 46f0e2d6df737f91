package providertest

import (
	"strings"

	"github.com/resourcesync-go/resourcesync"
)

// keep returns a copy of r that shares no memory with it, not even strings. A provider that
// reuses the memory of strings then breaks only the rule about strings.
func keep(r resourcesync.Resource) resourcesync.Resource {
	r = r.Clone()
	eachString(&r, cloneString)
	return r
}

func keepChange(c resourcesync.Change) resourcesync.Change {
	c.Resource = c.Resource.Clone()
	eachStringOfChange(&c, cloneString)
	return c
}

func keepAll(resources []resourcesync.Resource) []resourcesync.Resource {
	all := make([]resourcesync.Resource, len(resources))
	for i, r := range resources {
		all[i] = keep(r)
	}
	return all
}

func cloneString(s *string) { *s = strings.Clone(*s) }

// eachString calls f for the strings in r.
func eachString(r *resourcesync.Resource, f func(s *string)) {
	f(&r.Key)
	f(&r.URI)
	f(&r.ChangeFreq)
	f(&r.Type)
	f(&r.Encoding)
	f(&r.Stamp)
	eachStringOfHashes(r.Hashes, f)
	eachStringOfAttrs(r.Attrs, f)
	for i := range r.Links {
		l := &r.Links[i]
		f(&l.Rel)
		f(&l.Href)
		f(&l.Encoding)
		f(&l.Path)
		f(&l.Type)
		eachStringOfHashes(l.Hashes, f)
		eachStringOfAttrs(l.Attrs, f)
	}
}

func eachStringOfChange(c *resourcesync.Change, f func(s *string)) {
	f((*string)(&c.Type))
	eachString(&c.Resource, f)
}

func eachStringOfHashes(hashes []resourcesync.Hash, f func(s *string)) {
	for i := range hashes {
		f(&hashes[i].Algorithm)
		f(&hashes[i].Digest)
	}
}

func eachStringOfAttrs(attrs []resourcesync.Attr, f func(s *string)) {
	for i := range attrs {
		f(&attrs[i].Space)
		f(&attrs[i].Name)
		f(&attrs[i].Value)
	}
}
