package sidecar

import (
	"net/http"
	"net/url"

	"github.com/resourcesync-go/resourcesync/rshttp"
)

// Options configure [Wrap]. The zero value is valid.
type Options struct {
	// HTMLLink inserts <link rel="resourcesync"> into the heads of HTML pages that
	// get the Link header (core specification, section 6.3.3). A page with links has
	// a weak entity tag, and cannot be requested in ranges. Responses of several
	// ranges are replaced by the whole resource, whatever its type. Pages stay
	// unchanged if they have no head element, say no-transform, have a digest or
	// signature in their header or announce one as a trailer, are compressed otherwise than by gzip, or are in an encoding that is no
	// superset of ASCII.
	HTMLLink bool

	// Changed receives the URLs that a successful write may have changed: that of
	// the request, and its Location and Content-Location if they belong to the site.
	// Every method but GET, HEAD, OPTIONS and TRACE counts as a write, and every
	// status from 200 to 399 as success, because forms answer with redirects. Any
	// client can send a write, so Changed should bound the work that it causes. It
	// must return at once, and is called by many goroutines. If nil, writes are not
	// watched.
	Changed func(urls ...*url.URL)
}

// Wrap returns a handler that serves the documents of src and passes all other
// requests to site, as [rshttp.Source.Wrap] does, with the additions of o. site is
// the result of [NewProxy] or any other handler. The URLs of the website must be
// those of the host of src.
func Wrap(site http.Handler, src *rshttp.Source, o *Options) http.Handler {
	if o == nil {
		o = &Options{}
	}
	if o.HTMLLink {
		site = withHTMLLinks(site)
	}
	if o.Changed != nil {
		site = watchWrites(site, src.Description(), o.Changed)
	}
	return src.Wrap(site)
}
