// Package sidecar turns any website into a ResourceSync Source, by a reverse proxy
// between the clients and the web server.
//
// [NewProxy] is a reverse proxy that passes requests and responses on unchanged. [Wrap]
// adds a Source in front of it, or in front of any other [net/http.Handler]:
//
//	proxy, err := sidecar.NewProxy("http://127.0.0.1:8000", "https://example.org/", nil)
//	…
//	log.Fatal(http.ListenAndServe(":8080", sidecar.Wrap(proxy, src, &sidecar.Options{HTMLLink: true})))
//
// The Source answers requests for its own documents. All other requests go to the
// website. Responses for covered resources get a Link header (core specification,
// section 6.3.3) and, with [Options.HTMLLink], a link in the head of HTML pages.
//
// Wrap also watches for writes. A successful write is a hint that resources may have
// changed; [Options.Changed] passes it to an origin such as package sitemap. [Ping]
// accepts the same hints from plug-ins and cron jobs.
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
// [NewProxy] or any other handler. It gets the ResponseWriter of the server, unless o needs
// the response: that to a write for Changed, any with HTMLLink. The URLs of the website must
// have the host of src. o may be nil.
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

// watchWrites returns a handler that reports the URLs that successful writes name. It
// resolves them against base, a URL of the site, regardless of the requested host.
func watchWrites(next http.Handler, base string, changed func(...*url.URL)) http.Handler {
	site, err := url.Parse(base)
	if err != nil {
		panic("sidecar: " + err.Error()) // the Source returns valid URLs
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodConnect:
			next.ServeHTTP(w, r)
			return
		}
		response := &statusWriter{ResponseWriter: w}
		next.ServeHTTP(response, r)
		if response.status < 400 {
			changed(written(site, r.URL, w.Header())...)
		}
	})
}

// written returns the URLs of site that a write to target with this response header may
// have changed.
func written(site, target *url.URL, header http.Header) []*url.URL {
	own := url.URL{Scheme: site.Scheme, Host: site.Host, Path: target.Path, RawPath: target.RawPath, RawQuery: target.RawQuery}
	urls := []*url.URL{&own}
	for _, name := range []string{"Location", "Content-Location"} {
		value := header.Get(name)
		if value == "" {
			continue
		}
		if u, err := own.Parse(value); err == nil && u.Host == site.Host && u.User == nil {
			u.Scheme, u.Fragment, u.RawFragment = site.Scheme, "", ""
			urls = append(urls, u)
		}
	}
	return urls
}

// A statusWriter records the status of the final response; 0 means 200.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (s *statusWriter) WriteHeader(status int) {
	if status >= 200 && s.status == 0 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }
