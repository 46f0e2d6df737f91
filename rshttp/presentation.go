package rshttp

import "io/fs"

// Sitemaps says what search engines get (section 6.3.4): PlainSitemaps, ResourceLists, both
// joined by |, or nothing. [Source.Wrap] names the sitemaps in the application's /robots.txt,
// whose own lines are not changed. Destinations can find the Source by a Resource List there,
// because it links to its Capability List.
type Sitemaps uint8

const (
	// PlainSitemaps adds a sitemap.xml without elements of ResourceSync beside each
	// Resource List, for search engines that object to these elements.
	PlainSitemaps Sitemaps = 1 << iota

	// ResourceLists names the Resource Lists, which are sitemaps themselves.
	ResourceLists
)

// Pages configure the HTML pages on which people see the documents in a browser.
type Pages struct {
	// Off means that there are no pages: all clients get XML.
	Off bool

	// Templates has files that replace the built-in ones with the same names: layout.html
	// (what all pages have around them), style.css, script.js, _parts.html and parts.html
	// (what several pages use), and the pages source.html, set.html, list.html,
	// resources.html, changes.html, channel.html and error.html. Their data may change with
	// each version. [New] fails if a file has a fault, or a name that replaces none. If nil,
	// the built-in ones are used.
	Templates fs.FS
}
