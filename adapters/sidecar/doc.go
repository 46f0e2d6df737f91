// Package sidecar turns a website that is not written in Go into a ResourceSync
// Source. It stands between the site's clients and its web server.
//
// [NewProxy] is a reverse proxy that passes requests and responses on unchanged.
// [Wrap] puts a Source in front of it, or in front of any other [net/http.Handler]:
//
//	proxy, err := sidecar.NewProxy("http://127.0.0.1:8000", "https://example.org/", nil)
//	…
//	http.ListenAndServe(":8080", sidecar.Wrap(proxy, src, &sidecar.Options{HTMLLink: true}))
//
// The Source answers requests for its own documents. All other requests go to
// the site, whose covered responses get the Link header of section 6.3.3 of the
// core specification and, on request, the same link in the head of HTML pages.
//
// Wrap also watches for writes. Each successful one is a hint that resources may
// have changed, and [Options.Changed] hands it to a scanner, such as that of
// package sitemap. [Ping] accepts the same hints from plug-ins and cron jobs.
package sidecar
