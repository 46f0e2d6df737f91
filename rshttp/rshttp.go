// Package rshttp serves sets of resources as a ResourceSync Source over HTTP.
//
// [New] returns a [Source] that serves the documents of its [Set]s: the Source
// Description at the well-known URI, a Capability List per set, Resource Lists and, for
// a set with a journal, Change Lists. A set that can open the content of its resources or
// their past versions also has Resource Dumps and Change Dumps. [Source.Wrap] adds the
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
// Framework Notification 1.0.1). [Source.Run] does all work in the background.
//
// # Documents
//
// A Resource List that is too long for one document becomes an index of pages. A page is a
// range of keys, and its URL contains the range: the cost of rendering a page does not
// depend on the size of the set, and servers share no memory of pages. A document is
// rendered and compressed completely before its status is sent. It is cached, within a
// limit in bytes, as long as the state of its set does not change. Documents are functions
// of the state, so all replicas send the same bytes with the same entity tags. (The index
// of a Resource List also depends on the division of the set. Stores that keep their cuts,
// such as sqlstore, give all replicas the same division.)
//
// The packages of a dump are ranges of keys as well. They are ZIP files that are never
// stored: their bytes are computed while they are sent, from any offset, and verified
// against the manifest. A transfer with wrong content is aborted. The server must not limit
// the time of a response (WriteTimeout of http.Server), because large packages would never
// arrive.
package rshttp
