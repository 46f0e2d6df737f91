// Package resourcesync defines the types of a ResourceSync Source (ANSI/NISO Z39.99,
// core specification 1.1): resources and their changes, links, hashes, capabilities,
// and the [Provider] that supplies them. Section numbers without a document refer to the
// core specification.
//
// A host application implements Provider, one method that yields the resources of a
// key range in order. Package rshttp serves the documents of the Source over HTTP:
//
//	src, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{Provider: papers}}, nil)
//	…
//	log.Fatal(http.ListenAndServe(":8080", src.Wrap(app)))
//
// All other interfaces are optional upgrades, found by type assertion: [Changer] adds
// Change Lists, [Opener] adds Resource Dumps, [Stater] makes unchanged documents
// cheap, and so on. They are small, so that a host implements only what it has.
//
// # Testing
//
// Package providertest tests your implementation of Provider and its upgrades against
// the contract.
//
// This package imports no other package of this module, and not net/http.
package resourcesync
