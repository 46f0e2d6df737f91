// Package resourcesync is the vocabulary of a ResourceSync Source (ANSI/NISO
// Z39.99, core specification 1.1): resources and their changes, links, hashes,
// capabilities, and the [Provider] that supplies them.
//
// A host application writes a Provider, one method that yields the resources
// of a key range in order, and hands it to package rshttp, which turns it into
// the documents of a Source over HTTP:
//
//	src, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{Provider: papers}}, nil)
//	…
//	http.ListenAndServe(":8080", src.Wrap(app))
//
// What else a Provider can do, it says by further interfaces that are found by
// type assertion: [Changer] gives Change Lists, [Opener] gives Resource Dumps,
// [Stater] makes "nothing new" cheap, and so on. The interfaces are small so
// that a host implements what it has and nothing else.
//
// # Testing
//
// Package providertest holds the contract of Provider and its upgrades as a
// test suite that hosts run on their own implementation.
//
// This package imports nothing of this module and no net/http.
package resourcesync
