package check

// documentRules are further rules of a single document.
var documentRules = []Rule{
	{"time-future", Error, "Core 7", "Times of a document are not in the future.", "Check the clock of the server, and that local time is not labelled as UTC. Destinations skip changes before the latest time that they have read."},
	{"resource-repeated", Error, "Core 10.1", "A resource has one entry in the Resource Lists of its set.", "List each resource once. If an index lists pages of a moving query, divide it by a key instead."},
	{"list-paging", Error, "Core 10.2", "Parts of a list are listed by an index, because Destinations do not follow links with rel=\"next\".", "Publish a sitemapindex that lists all pages."},
	{"capability-unknown", Warning, "Core 7", "The capability of a document is one of the specifications.", "Use a specified word. An index has the capability of its parts; description and changelist have replaced resourcesync and changeset of drafts."},
	{"hash-digest", Warning, "Core 7", "The digest of a hash is hexadecimal, and as long as its algorithm says.", "Write the digest in hexadecimal digits."},
	{"type-syntax", Warning, "Core 7", "A type is a media type.", "Write type/subtype, as in text/html."},
	{"deleted-described", Advice, "Core 12.1", "The entry of a deleted resource has no hash, length or type, because there is no representation.", "Omit them."},
	{"link-up-missing", Warning, "", "Capability Lists, lists and dumps link to the document above them with rel=\"up\".", "Add the link: to the Source Description in a Capability List, to the Capability List elsewhere."},
	{"link-index-missing", Advice, "", "A part of a list links to its index with rel=\"index\".", "Add the link, so that a Destination that has read the part finds the others."},
	{"datetime-missing", Advice, "Core 12.1", "Changes have a datetime.", "Add the time of each change, so that Destinations can continue after the last one they have read."},
	{"lastmod-missing", Advice, "Core 10.2", "Entries of an index have a lastmod or the times of their part.", "Add one, so that Destinations read only parts that have changed."},
	{"resource-undescribed", Advice, "Core 10.1", "Entries of a Resource List have a lastmod, hash or length.", "Add them, so that Destinations can tell which resources have changed without requesting them."},
	{"hash-algorithm", Advice, "Core 7", "Hashes use md5, sha-1 or sha-256.", "Add a sha-256, which every Destination can verify."},
	{"newest-first", Advice, "Core 12.1", "The lastmod of changes without datetime ascends.", "Sort by the time of the change, the oldest first, and add datetime."},
	{"document-large", Advice, "Sitemap protocol", "A document has less than 10 MB, uncompressed.", "Divide the list, and publish an index of its parts."},
}

// treeRules are rules between documents.
var treeRules = []Rule{
	{"unreachable", Error, "Core 6", "Documents that are listed can be read.", "Publish the document, or remove its entry."},
	{"document-internal", Error, "Core 6", "Documents that are listed have public addresses.", "List the public URL. To check a Source in your own network, allow its addresses."},
	{"robots-disallowed", Error, "Core 6.3.4", "robots.txt allows documents and resources that are listed.", "Allow them, because Destinations obey robots.txt."},
	{"part-capability", Error, "Core 9", "A document has the capability that its entry states, and a part that of its index.", "Correct the entry or the document."},
	{"index-nested", Error, "Sitemap protocol", "An index lists no other indexes.", "List the parts in one index."},
	{"changes-gap", Error, "Core 5.2", "Change Lists reach back to the time of the Resource List.", "Keep changes until the at of the Resource List is later than they are, or publish the list more often."},
	{"list-contradicts-changes", Error, "Core 9", "A Resource List agrees with the changes before its at.", "Build the lists from the same data, and list deletions and creations in both."},
	{"closed-changed", Error, "Core 12.1", "A closed Change List does not change.", "Add changes to the open list."},
	{"part-interval", Warning, "Core 12.2", "from and until of an entry are those of the document that it leads to.", "Copy them from the document. An open list has no until in the index either."},
	{"interval-gap", Warning, "Core 12.2", "The intervals of lists of changes follow each other without gaps.", "Begin each list where the one before ends, even if nothing has changed."},
	{"interval-overlap", Warning, "Core 12.2", "The intervals of lists of changes do not overlap.", "Begin each list where the one before ends, and close each before the next begins."},
	{"link-up-wrong", Warning, "Core 6.2", "rel=\"up\" leads to the document that lists this one.", "Correct the link."},
	{"link-index-wrong", Warning, "Core 6.2", "rel=\"index\" leads to the index that lists this document.", "Correct the link."},
	{"well-known-missing", Advice, "Core 6.3.2", "The Source Description is at /.well-known/resourcesync.", "Publish or redirect it there, because Destinations look there first."},
	{"baseline-missing", Advice, "Core 9", "A set has a Resource List or a Resource Dump.", "Publish one, because a Destination cannot begin with changes."},
	{"changes-missing", Advice, "Core 9", "A set has a Change List.", "Publish one, so that Destinations need not compare the whole list."},
	{"mixed-hosts", Advice, "Sitemap protocol", "Resources and documents are at the scheme and host of the document that lists them.", "List them under one host, because Destinations may refuse others."},
}

// httpRules are rules of responses.
var httpRules = []Rule{
	{"identity", Error, "RFC 9110 12.5.3", "A client that accepts no gzip receives none.", "Compress only if Accept-Encoding allows it, and send Vary: Accept-Encoding."},
	{"content-type", Advice, "RFC 9110 8.3", "Documents have the media type application/xml or text/xml.", "Send Content-Type: application/xml."},
	{"no-gzip", Advice, "RFC 9110 8.4", "Documents are compressed if the client allows it.", "Enable gzip in the web server. Lists become about a tenth as large."},
	{"no-validators", Advice, "RFC 9110 8.8", "Documents have an ETag or a Last-Modified.", "Send one, so that Destinations can ask for changed documents only."},
	{"no-304", Advice, "RFC 9110 13.1", "The answer to a conditional request for an unchanged document is 304.", "Compare If-None-Match with the ETag, or If-Modified-Since with Last-Modified."},
	{"unstable", Advice, "Core 10.1", "A document stays the same while its entries do.", "Do not write the time of the request into documents. Destinations read all of it again each time."},
	{"redirected", Advice, "RFC 9110 15.4", "Documents are listed by the URLs at which they are.", "List the URL to which the redirect leads."},
}

// contentRules are rules of resources and packages.
var contentRules = []Rule{
	{"resource-unreachable", Error, "Core 10.1", "Resources that are listed can be requested.", "Remove the entry, or publish the resource."},
	{"resource-length", Error, "Core 7", "The length of a resource is the one that its entry states.", "Update the entry whenever the content changes."},
	{"resource-hash", Error, "Core 7", "The content of a resource has the hash that its entry states.", "Update the entry whenever the content changes."},
	{"package-unreachable", Error, "Core 11.1", "Packages that are listed can be requested.", "Remove the entry, or publish the package."},
	{"package-changed", Error, "Core 7", "A package has the length and hash that its entry states.", "Update the entry together with the package."},
	{"package-unreadable", Error, "Core 11.2", "A package is a ZIP file.", "Write packages with a ZIP library, and check that they are sent completely."},
	{"package-name", Error, "ZIP 4.4.17", "Names of files in a package are relative, without \"..\" or backslashes.", "Write paths relative to the top level of the package, with slashes."},
	{"manifest-missing", Error, "", "A package has the file manifest.xml at its top level.", "Add the manifest."},
	{"manifest-capability", Error, "", "The manifest belongs to the kind of dump that lists the package.", "Use resourcedump-manifest in Resource Dumps, and changedump-manifest in Change Dumps."},
	{"package-file-missing", Error, "", "Each path of a manifest is a file of the package.", "Add the file, or remove the entry."},
	{"package-file-content", Error, "Core 7", "A file has the length and hash that the manifest states.", "Write manifest and file from the same content."},
	{"contents-differ", Error, "", "The document that rel=\"contents\" leads to is the manifest of the package.", "Publish the manifest of the package, or remove the link."},
	{"package-file-unlisted", Warning, "", "Each file of a package has an entry in the manifest.", "Add the entry, or remove the file."},
	{"package-size", Warning, "rsxml", "A package has at most a million files.", "Divide it."},
	{"resource-type", Advice, "Core 7", "The media type of a resource is the one that its entry states.", "Send the same Content-Type as the list states."},
	{"manifest-position", Advice, "Core 11.2", "The manifest is the first file of the package.", "Write it first, so that a Destination can process the package while it arrives."},
}

// pushRules are rules of topics and hubs.
var pushRules = []Rule{
	{"hub-missing", Error, "", "The entry of a topic in the Capability List links to a hub with rel=\"hub\".", "Add the link."},
	{"topic-unreachable", Error, "", "A topic answers with 200.", "Serve the latest notification, or an empty body."},
	{"topic-hub", Error, "", "The Link header of a topic has a link with rel=\"hub\" to the hub of the Capability List.", "Send Link: <hub>; rel=\"hub\"."},
	{"topic-self", Error, "", "The Link header of a topic has a link with rel=\"self\" to the topic.", "Send Link: <topic>; rel=\"self\"."},
	{"hub-unreachable", Error, "WebSub 5.1", "A hub answers to a subscription request, with an error if it is incomplete.", "Check the URL of the hub, and that it accepts POST."},
	{"hub-subscription", Error, "WebSub 5.1", "A hub accepts a subscription, and its end, with 202.", "Check that the hub knows the topic, and may request the callback."},
	{"hub-verification", Error, "WebSub 5.3", "A hub verifies a request with hub.mode, hub.topic, hub.challenge and hub.lease_seconds.", "Check that the hub can reach the callback, and what it sends there."},
	{"websocket-unreachable", Error, "Notification 0.8 6", "A WebSocket that is listed opens.", "Check the URL, and that every proxy before the server passes the header Upgrade on."},
	{"topic-type", Warning, "", "A topic has the media type application/xml.", "Send Content-Type: application/xml."},
	{"hub-careless", Warning, "WebSub 5.1", "A hub refuses a subscription without a callback.", "Answer with a 4xx status."},
}
