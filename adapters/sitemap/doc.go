// Package sitemap makes a set of resources out of a website that publishes
// sitemaps, whatever software it runs.
//
// A [Site] is a scanner: [Site.Resources] lists the pages that the sitemaps of the
// site name, in no particular order, for a store to compare and keep. Between scans,
// [Site.Run] checks pages for which there are hints, and all others in turn.
//
// # What is listed
//
// The sitemaps are those that robots.txt names, or else /sitemap.xml and
// /wp-sitemap.xml. Sitemap indexes, gzip, plain text, RSS and Atom are read, too. Of
// the URLs in them, those of the site itself are listed if they are public: a GET
// without cookies and credentials must be answered with 200, and the page must not
// say noindex or name a canonical URL on another host.
//
// A page that stops qualifying (401, 403, 404, 410, a redirect, noindex) is
// withdrawn at once. If many pages do so within a short time, the set can hold their
// deletions, as sqlstore.Set.Withdraw does: a plug-in that has gone wrong looks the
// same. A server error, a time-out or an unreadable sitemap changes nothing: the
// affected pages stay as they were.
//
// # What a scan costs
//
// A sitemap is requested with the validators of the last time. If it has not changed,
// it is read from a copy in [Options.Folder]. A page is requested only if it is new or
// if the lastmod in its sitemap has changed. Many changes show in no lastmod, above
// all of permissions; so all pages are requested again in turn, at the rate of
// [Options.Revisit].
package sitemap
