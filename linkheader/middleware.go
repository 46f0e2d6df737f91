package linkheader

import (
	"net/http"
	"net/url"
	"sync"

	"github.com/resourcesync-go/resourcesync"
)

// A Cover connects resources with the Capability List of their set. Both fields are
// mandatory.
type Cover struct {
	// CapabilityList is the absolute URI of the set's Capability List.
	CapabilityList string

	// Covers reports whether the capabilities in CapabilityList cover the
	// resource at u. u is the URL of a request: its path and query are set, but
	// its scheme and host may be empty. Covers must not modify or retain u. It is
	// called once for each GET and HEAD request, concurrently, and delays the
	// response by the time it takes.
	Covers func(u *url.URL) bool
}

// Middleware links resources to their Capability Lists (core specification, section
// 6.3.3). It adds
//
//	Link: <capability list>; rel="resourcesync"
//
// to the responses to GET and HEAD requests for covered URLs: one value for each of
// covers that covers the URL, after the values that the header already has. It changes
// no other responses and no requests.
//
// Middleware adds the header before it calls next and does not wrap the
// ResponseWriter, so all optional methods of the ResponseWriter stay available. It
// follows that a handler that sets Link, instead of adding to it, removes the values,
// and that error responses have them, too.
//
// Middleware panics if a field of a Cover is not set.
func Middleware(covers ...Cover) func(next http.Handler) http.Handler {
	announcements := make([]announcement, len(covers))
	for i, c := range covers {
		if c.CapabilityList == "" || c.Covers == nil {
			panic("linkheader: a Cover needs both CapabilityList and Covers")
		}
		link := Link{Target: c.CapabilityList, Rel: resourcesync.RelResourceSync}
		announcements[i] = announcement{c.Covers, link.String()}
	}
	return func(next http.Handler) http.Handler {
		return &announcer{next: next, announcements: announcements}
	}
}

// An announcement is a Cover with its rendered header value.
type announcement struct {
	covers func(*url.URL) bool
	value  string
}

type announcer struct {
	next          http.Handler
	announcements []announcement
	values        slab
}

func (a *announcer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		for i := range a.announcements {
			if a.announcements[i].covers(r.URL) {
				a.announce(w.Header(), r.URL, i)
				break
			}
		}
	}
	a.next.ServeHTTP(w, r)
}

// announce adds the values that cover u to h. The first one is known. The slice in h may
// share its spare capacity with other requests, so the values are in a new slice.
func (a *announcer) announce(h http.Header, u *url.URL, first int) {
	var few [4]string // rarely do more sets overlap
	values := append(few[:0], a.announcements[first].value)
	for _, other := range a.announcements[first+1:] {
		if other.covers(u) {
			values = append(values, other.value)
		}
	}
	before := h["Link"]
	all := a.values.take(len(before) + len(values))
	copy(all, before)
	copy(all[len(before):], values)
	h["Link"] = all
}

// A slab hands out slices of strings, each to one request, which may overwrite the elements.
// Most of them need no allocation, because a slab allocates many at a time.
type slab struct{ blocks sync.Pool }

// blockSize is the number of strings that a slab allocates at a time. A response that is
// kept for long keeps them all, so they are not many.
const blockSize = 64

type block struct{ rest []string }

// take returns a slice of n empty strings, which has no spare capacity.
func (s *slab) take(n int) []string {
	b, _ := s.blocks.Get().(*block)
	if b == nil {
		b = new(block)
	}
	if len(b.rest) < n {
		b.rest = make([]string, max(n, blockSize))
	}
	taken := b.rest[:n:n]
	b.rest = b.rest[n:]
	s.blocks.Put(b)
	return taken
}
