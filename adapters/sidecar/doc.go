// Package sidecar turns any website into a ResourceSync Source, by a reverse proxy
// between the clients and the web server.
//
// [NewProxy] is a reverse proxy that passes requests and responses on unchanged. [Wrap]
// adds a Source in front of it, or in front of any other [net/http.Handler]:
//
//	proxy, err := sidecar.NewProxy("http://127.0.0.1:8000", "https://example.org/", &sidecar.ProxyOptions{HTMLLink: true})
//	…
//	log.Fatal(http.ListenAndServe(":8080", sidecar.Wrap(proxy, src, nil)))
//
// The Source answers requests for its own documents. All other requests go to the
// website. Responses for covered resources get a Link header (core specification,
// section 6.3.3) and, with [ProxyOptions.HTMLLink], a link in the head of HTML pages.
//
// Wrap also watches for writes. A successful write is a hint that resources may have
// changed; [Options.Changed] passes it to a scanner such as package sitemap. [Ping]
// accepts the same hints from plug-ins and cron jobs.
package sidecar
