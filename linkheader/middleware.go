package linkheader

import (
	"net/http"
	"net/url"

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
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet || r.Method == http.MethodHead {
				announce(w.Header(), r.URL, announcements)
			}
			next.ServeHTTP(w, r)
		})
	}
}

// An announcement is a Cover with its rendered header value.
type announcement struct {
	covers func(*url.URL) bool
	value  string
}

// announce adds the values that cover u to h. It allocates a new slice, because the
// slice in h may share its spare capacity with other requests.
func announce(h http.Header, u *url.URL, announcements []announcement) {
	var values []string
	for i, a := range announcements {
		if !a.covers(u) {
			continue
		}
		if values == nil {
			before := h["Link"]
			// Few sets overlap: capacity for four usually avoids a second
			// allocation.
			values = make([]string, len(before), len(before)+min(len(announcements)-i, 4))
			copy(values, before)
		}
		values = append(values, a.value)
	}
	if values != nil {
		h["Link"] = values
	}
}
