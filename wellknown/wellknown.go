// Package wellknown serves the two entry points to the ResourceSync documents of a
// website: the Source Description at its well-known URI (core specification, sections
// 6.3.2 and 8), and the Sitemap directives in robots.txt (section 6.3.4).
//
// Package rshttp includes both. Use this package alone on a host that only links to
// Capability Lists that another server publishes.
package wellknown

// Path is the path of the Source Description's well-known URI (section 6.3.2).
const Path = "/.well-known/resourcesync"
