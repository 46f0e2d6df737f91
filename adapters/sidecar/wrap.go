package sidecar

import (
	"net/http"
	"net/url"

	"github.com/resourcesync-go/resourcesync/rshttp"
)

// Options are the optional arguments of [Wrap].
type Options struct {
	// HTMLLink inserts <link rel="resourcesync"> into the head of HTML pages that
	// have the Link header (core specification, section 6.3.3). A page with links
	// has a weak entity tag and does not support ranges. A response with several
	// ranges is replaced by the complete resource, regardless of its type.
	//
	// Pages stay unchanged if they have no head element, say no-transform, have a
	// digest or signature in the header or announce one as a trailer, use a content
	// coding other than gzip, or have an encoding that is not a superset of ASCII.
	HTMLLink bool

	// Changed receives the URLs that a successful write may have changed: the URL of
	// the request, and its Location and Content-Location if they belong to the site.
	// Every method except GET, HEAD, OPTIONS and TRACE counts as a write, and every
	// status from 200 to 399 as success, because forms answer with redirects. Any
	// client can send a write, so Changed should limit the work for it. It must not
	// block, and must be safe for concurrent use. If nil, writes are not reported.
	Changed func(urls ...*url.URL)
}

// Wrap returns a handler that serves the documents of src and passes all other requests
// to site, like [rshttp.Source.Wrap], with the additions of o. site is the result of
// [NewProxy] or any other handler. The URLs of the website must have the host of src. o
// may be nil.
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
