package memory

import (
	"net/url"
)

// A place is where a resource is. Requests find it by a path, decoded, and a query,
// as it is written; Destinations know it by its URI, which it may share with others.
type place struct {
	path, query string // none of a URI without a path, such as a URN: no request leads there
	uri         string
	key         string
}

// placeOf returns the place of the resource at uri with this key.
func placeOf(uri, key string) place {
	u, err := url.Parse(uri)
	if err != nil {
		panic("memory: a URI was put that does not parse: " + err.Error())
	}
	p := asked(u)
	p.uri, p.key = uri, key
	return p
}

// asked returns where a request for u leads, which is before all places there.
func asked(u *url.URL) place {
	switch {
	case u.Opaque != "":
		return place{}
	case u.Path == "":
		return place{path: "/", query: u.RawQuery}
	}
	return place{path: u.Path, query: u.RawQuery}
}

// place returns the place of m. Its URI is parsed again: a place is as large as most of
// what else is known of a resource.
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

// Covers implements [resourcesync.Coverer]: it reports whether the path, decoded,
// and the query, as it is written, are those of a resource's URI. Scheme and host
// do not matter. It allocates nothing unless the set has changed since it was
// last read.
func (s *Set) Covers(u *url.URL) bool {
	st := s.current()
	p := asked(u)
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
