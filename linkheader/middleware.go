package linkheader

import (
	"net/http"
	"net/url"

	"github.com/resourcesync-go/resourcesync"
)

// A Cover says which resources the capabilities of a set cover. Both fields are
// mandatory.
type Cover struct {
	// CapabilityList is the absolute URI of the set's Capability List.
	CapabilityList string

	// Covers reports whether the resource at u is covered by the capabilities
	// that CapabilityList lists. u is the URL of a request: its path and
	// query are set, its scheme and host may not be. It must not be changed
	// or kept. Covers is called once for every GET and HEAD request, by many
	// goroutines at a time, and what it costs is added to each.
	Covers func(u *url.URL) bool
}

// Middleware makes Capability Lists discoverable from the resources that they
// are about (core specification, section 6.3.3). It adds
//
//	Link: <capability list>; rel="resourcesync"
//
// to the answers to GET and HEAD requests of covered URLs, one value for each of
// covers that covers the URL, after those that are there already. All other
// answers are left alone, and no request is changed.
//
// The header is added before next is called, whose ResponseWriter is not
// wrapped: whatever else it can do stays available. So a handler that sets Link,
// instead of adding to it, wins; and since nothing is known of the answer yet,
// those that report an error have the header as well.
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

// An announcement is a Cover with its header value written out.
type announcement struct {
	covers func(*url.URL) bool
	value  string
}

// announce adds the values that cover u to h. The slice is made anew: what is
// in h may have room that it shares with other requests.
func announce(h http.Header, u *url.URL, announcements []announcement) {
	var values []string
	for i, a := range announcements {
		if !a.covers(u) {
			continue
		}
		if values == nil {
			before := h["Link"]
			// Few sets overlap; room for four makes one allocation the rule
			// without paying for all there are.
			values = make([]string, len(before), len(before)+min(len(announcements)-i, 4))
			copy(values, before)
		}
		values = append(values, a.value)
	}
	if values != nil {
		h["Link"] = values
	}
}
