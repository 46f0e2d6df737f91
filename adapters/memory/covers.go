package memory

import (
	"net/url"
)

// A place is an index entry of a resource: by the decoded path and the raw query of its
// URI, for requests, and by the URI, which resources may share.
type place struct {
	path, query string // empty for a URI without a path, such as a URN, which cannot be requested
	uri         string
	key         string
}

// placeOf returns the place of the resource with this key and URI.
func placeOf(uri, key string) place {
	u, err := url.Parse(uri)
	if err != nil {
		panic("memory: a URI was put that does not parse: " + err.Error())
	}
	p := placeOfRequest(u)
	p.uri, p.key = uri, key
	return p
}

// placeOfRequest returns the place that sorts before all places of resources at u.
func placeOfRequest(u *url.URL) place {
	switch {
	case u.Opaque != "":
		return place{}
	case u.Path == "":
		return place{path: "/", query: u.RawQuery}
	}
	return place{path: u.Path, query: u.RawQuery}
}

// place returns the place of m. It parses the URI again, because storing the place would
// nearly double the memory of a resource.
func (m *member) place() place { return placeOf(m.resource.URI, m.resource.Key) }

func (p place) less(o place) bool {
	switch {
	case p.path != o.path:
		return p.path < o.path
	case p.query != o.query:
		return p.query < o.query
	case p.uri != o.uri:
		return p.uri < o.uri
	}
	return p.key < o.key
}

// Covers implements [resourcesync.Coverer]: it reports whether the decoded path and the
// raw query of u are those of a resource's URI. It ignores scheme and host. It allocates
// only on the first read after a change.
func (s *Set) Covers(u *url.URL) bool {
	st := s.current()
	p := placeOfRequest(u)
	if !st.ready || p.path == "" {
		return false
	}
	covered := false
	st.places.Ascend(p, func(at place) bool {
		covered = at.path == p.path && at.query == p.query
		return false
	})
	return covered
}
