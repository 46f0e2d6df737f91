// Package rshttp serves sets of resources as a ResourceSync Source over HTTP.
//
// [New] returns a [Source] that serves the documents of the sets it is given: the Source
// Description at the well-known URI, a Capability List per set, Resource Lists and, for
// a set with a journal, Change Lists. A set has Resource Dumps if it can read the content of
// its resources, and Change Dumps if it can read their past versions. [Source.Wrap] adds the
// Source to an application in one line. A Source is also an http.Handler that matches the
// complete path of a request, and can be mounted:
//
//	mux.Handle("/resourcesync/", src)                 // net/http
//	mux.Handle("/.well-known/resourcesync", src)
//	mux.Handle("/", src.Link(app))
//
//	r.Mount("/resourcesync", src)                     // chi
//	r.Handle("/.well-known/resourcesync", src)
//
//	r.PathPrefix("/resourcesync/").Handler(src)       // gorilla/mux
//	r.Handle("/.well-known/resourcesync", src)
//
// If [Options].Hub is set or a set has remote hubs, the Source also pushes changes over the
// two notification channels that its Capability Lists advertise (Change Notification and
// Framework Notification 1.0.1). [Source.Run] publishes and delivers them, and
// does the background work.
//
// # Documents
//
// A Resource List that is too long for one document becomes an index of pages. A page is a
// range of keys, and its URL contains the range: the cost of rendering a page does not
// depend on the size of the set, and servers share no memory of pages. A document is
// rendered and compressed completely before its status is sent. It is cached, within
// [Options].CacheBytes, until its set changes. Documents are functions of the state, so all
// replicas send the same bytes with the same entity tags. (The index of a Resource List also
// depends on how the set has been divided. Stores that keep their cuts, such as sqlstore,
// divide it alike for all replicas.)
//
// A package of a Resource Dump is a range of keys, and one of a Change Dump is a span of
// time. Packages are never stored: their bytes are computed while they are sent, from any
// offset, and checked against the manifest. If content does not match, the transfer is
// aborted. Leave WriteTimeout of http.Server zero, or large packages never arrive.
package rshttp
