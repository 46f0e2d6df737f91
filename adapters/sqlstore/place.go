package sqlstore

import (
	"hash/fnv"
	"net/url"
)

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
