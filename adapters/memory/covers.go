package memory

import (
	"net/url"
	"strings"
)

// A place is where requests find resources: a path, decoded, and a query, as it
// is written.
type place struct {
	path, query string
	resources   int // how many resources are there
}

// placeOf returns the place of u. That of a URI without a path, such as a URN,
// is the zero value: no request leads there.
func placeOf(u *url.URL) place {
	switch {
	case u.Opaque != "":
		return place{}
	case u.Path == "":
		return place{path: "/", query: u.RawQuery}
	}
	return place{path: u.Path, query: u.RawQuery}
}

// place returns where requests find m. Its URI is parsed again, which is rare,
// because a place is as large as most of what else is known of a resource.
func (m *member) place() place {
	u, err := url.Parse(m.resource.URI)
	if err != nil {
		panic("memory: a URI was put that does not parse: " + err.Error())
	}
	return placeOf(u)
}

func (p place) less(o place) bool {
	if c := strings.Compare(p.path, o.path); c != 0 {
		return c < 0
	}
	return p.query < o.query
}

func (st *state) cover(p place) {
	if p.path == "" {
		return
	}
	at, _ := st.places.Get(p)
	p.resources = at.resources + 1
	st.places.Set(p)
}

func (st *state) uncover(p place) {
	at, _ := st.places.Get(p)
	if at.resources > 1 {
		at.resources--
		st.places.Set(at)
	} else {
		st.places.Delete(p)
	}
}

// Covers implements [resourcesync.Coverer]: it reports whether the path, decoded,
// and the query, as it is written, are those of a resource's URI. Scheme and host
// do not matter. It allocates nothing unless the set has changed since it was
// last read.
func (s *Set) Covers(u *url.URL) bool {
	st := s.current()
	if !st.ready {
		return false
	}
	_, found := st.places.Get(placeOf(u))
	return found
}
