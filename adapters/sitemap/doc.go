// Package sitemap publishes a website that has sitemaps, whatever software it runs, as
// a set of resources.
//
// A [Site] is a scanner: [Site.Resources] yields the pages that the sitemaps name, in
// no particular order, for a store to compare and keep. Between scans, [Site.Run]
// checks pages that hints name at once, and all others in rotation.
//
// # Listed pages
//
// The sitemaps are those that robots.txt names or, if it names none, /sitemap.xml or
// /wp-sitemap.xml. They may be sitemap indexes, RSS or Atom feeds, or plain text, and
// compressed with gzip. A URL in them is listed if it belongs to the site and is
// public: a GET without cookies and credentials is answered with 200, and the page
// neither says noindex nor names a canonical URL on another host.
//
// A page that stops qualifying (401, 403, 404, 410, 451, a redirect, noindex) is
// withdrawn at once. If many pages do so within a short time, the set can hold their
// deletions, as sqlstore.Set.Withdraw does, because a broken plug-in looks the same. A
// server error, a time-out or an unreadable sitemap changes nothing: the affected pages
// stay as they were.
//
// # The cost of a scan
//
// A scan requests each sitemap with the validators of the last response, and reads an
// unchanged one from a copy in [Options.Folder]. It requests a page only if the page is
// new or the lastmod in its sitemap has changed. Many changes, above all those of
// permissions, change no lastmod, so [Site.Run] requests all pages again in turn, at
// the rate of [Options.Revisit].
package sitemap
