// Package wellknown holds the two places of a site that lead to its
// ResourceSync documents: the Source Description, published at a well-known URI
// (core specification, sections 6.3.2 and 8), and the Sitemap directives of
// robots.txt (section 6.3.4).
//
// Package rshttp serves both by itself. This package alone is enough for a host
// whose Capability Lists are made elsewhere and that publishes nothing more than
// where they are.
package wellknown

// Path is the path of the Source Description's well-known URI (section 6.3.2).
const Path = "/.well-known/resourcesync"
