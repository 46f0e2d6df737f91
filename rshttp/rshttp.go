// Package rshttp turns sets of resources into a ResourceSync Source over HTTP.
//
// A [Source] made by [New] answers for the documents of its [Set]s: the Source
// Description at the well-known URI, a Capability List per set, Resource Lists
// and, where a set keeps a journal, Change Lists; where it has the bytes of its
// resources, or of their past versions, Resource Dumps and Change Dumps as well.
// [Source.Wrap] puts it in front of an application in one line; it can also be
// mounted by hand, because it is an http.Handler that looks at the full path of a
// request:
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
// A Source with [Options].Hub, or a set with hubs elsewhere, also publishes changes as
// soon as they happen, over the two notification channels that Capability Lists
// advertise (Change Notification and Framework Notification 1.0.1). [Source.Run] runs
// all of it.
//
// # How documents come to be
//
// A Resource List that is too long for one document becomes an index of pages.
// A page is a range of keys, and the range is in the page's URL: rendering it
// costs that page, however large the set, and no server needs to remember
// anything about it. A document is rendered and compressed whole before its
// status is sent; it is kept under a byte budget for as long as its set says
// that nothing has changed. Everything in a document is a function of the
// set's state, so that replicas give the same bytes with the same entity tags.
// (The index of a Resource List is one of how the set is divided, too: stores
// that keep their cuts, such as sqlstore, divide it alike for all replicas.)
//
// The packages of a dump are ranges of keys, too. They are ZIP files that exist
// nowhere: their bytes are computed while they are sent, from any offset, and held
// to what their manifest says. A transfer that turns out to be wrong is broken
// off. Servers must not limit the time of a whole answer (http.Server's
// WriteTimeout), or large packages never arrive.
package rshttp
