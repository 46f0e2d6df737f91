package check

import "slices"

// Sentences of section 7 that several rules judge.
const (
	formatsSay   = "The <urlset> element has zero or more <url> child elements, and the <sitemapindex> element has zero or more <sitemap> child elements."
	limitsSay    = "At time of publication of this specification, the limit is 50,000 items per document and a document size of 50 MB."
	locSays      = "A mandatory element that conveys the URI of the resource that plays a role in the ResourceSync framework."
	attributeSay = "Communities may introduce additional attributes when needed but must use an XML Namespace other than that of ResourceSync"
	urlsetSays   = "It has the <urlset> root element and the following structure"
)

// syntaxRules are those that a Decoder of package rsxml checks. It knows their sections.
var syntaxRules = []Rule{
	// Without these, a document cannot be read, or not completely.
	{
		ID: "xml", Harm: Error, Sentences: says(Must, "", "XML"),
		Text: "A document is well-formed XML.", Remedy: "Write documents with an XML library, and make sure that they are sent completely.",
	}, {
		ID: "encoding-utf8", Harm: Error, Sentences: says(Must, "", "Sitemap protocol"),
		Text: "A document is encoded in UTF-8.", Remedy: "Write and declare UTF-8.",
	}, {
		ID: "root-element", Harm: Error, Sentences: says(Must, "These elements are the root elements of ResourceSync documents", "Core 7"),
		Text: "The root of a document is urlset or sitemapindex.", Remedy: "Check that the URL leads to a ResourceSync document and not to an error page.",
		Seen: []string{"Alexanarch (a list of OAI-PMH)"},
	}, {
		ID: "namespace", Harm: Error, Sentences: says(Must, "Throughout this document, the following namespace prefix bindings are used", "Core 4"),
		Text:   "Elements are in the namespaces of Sitemaps and of ResourceSync.",
		Remedy: `Use exactly http://www.sitemaps.org/schemas/sitemap/0.9 and http://www.openarchives.org/rs/terms/, with "http" and the slashes.`,
		Seen:   []string{"a repository in TypeScript (…/rs/2.0)"},
	}, {
		ID: "namespace-prefix", Harm: Error, Sentences: says(Must, "", "XML"),
		Text: "Namespace prefixes are declared.", Remedy: `Add xmlns:rs="http://www.openarchives.org/rs/terms/" to the root.`,
	}, {
		ID: "element-size", Harm: Error, Sentences: says(None, "", "rsxml"),
		Text: "The readers of this module need a head and entries of at most 1 MiB each.", Remedy: "Remove what does not describe the resource.",
	}, {
		ID: "entry-element", Harm: Error, Sentences: says(Must, formatsSay, "Core 7"),
		Text: "The entries of a urlset are url elements; the entries of a sitemapindex are sitemap elements.", Remedy: "Use the element that belongs to the root.",
	}, {
		ID: "loc-missing", Harm: Error, Sentences: says(Must, locSays, "Core 7"),
		Text: "Each entry has a loc.", Remedy: "Add the URI of the resource or document.",
	}, {
		ID: "uri-syntax", Harm: Error, Sentences: says(Must, locSays, "Core 7"),
		Text: "URIs are absolute and follow RFC 3986.", Remedy: "Write the URI with scheme and host, and percent-encode all other characters.",
		Seen: []string{"resync (Python) 2.0.1", "BIBCAT (relative URIs)", "py-resourcesync (local paths)"},
	}, {
		ID: "capability-missing", Harm: Error, Sentences: says(Must, "This attribute is mandatory in all ResourceSync documents.", "Core 7"),
		Text: "The rs:md of a document has a capability.", Remedy: "Add an rs:md with the capability before the first entry.",
	}, {
		ID: "datetime-syntax", Harm: Error, Sentences: says(Must, "The attribute value is expressed as a W3C Datetime", "Core 7"),
		Text: "Times are W3C Datetimes.", Remedy: "Write times as in 2026-01-31T23:59:59Z.",
	}, {
		ID: "change-value", Harm: Error, Sentences: says(Must, "Values defined in this specification are created, updated, and deleted", "Core 7"),
		Text: "The change of an entry is created, updated or deleted.", Remedy: "Use one of the three values.",
	}, {
		ID: "at-missing", Harm: Error,
		Sentences: says(Must, "It must also have an at attribute that conveys the datetime at which the process of taking a snapshot of resources", "Core 10.1", "Core 10.2", "Core 11.1", "Core 11.2"),
		Text:      "Resource Lists, Resource Dumps and their manifests have the attribute at.", Remedy: "Add the time at which reading the resources began. Destinations read changes since then.",
	}, {
		ID: "from-missing", Harm: Error,
		Sentences: append(says(Must, "It also has the mandatory from and the optional until attributes to convey the temporal interval", "Core 12.1", "Core 12.2", "Core 13.1", "Core 13.2"),
			Sentence{"Change Notification 3", Must, "It also has the mandatory from and until attributes."}),
		Text: "Change Lists, Change Dumps, their manifests and Change Notifications have the attribute from.", Remedy: "Add the time since when all changes are listed.",
		Seen: []string{"resync (Python) with --write-changelist", "WEKO3"},
	}, {
		ID: "until-missing", Harm: Warning, Sentences: says(Must, "It also has the mandatory from and until attributes.", "Change Notification 3"),
		Text: "A Change Notification has the attribute until.", Remedy: "Add the time until which all changes are listed.",
	}, {
		ID: "entry-at-missing", Harm: Warning, Sentences: says(Must, "", "Archives 3", "Archives 4"),
		Text: "The entries of archives of lists and dumps have the attribute at.", Remedy: "Copy it from the archived document.",
	}, {
		ID: "entry-from-missing", Harm: Warning, Sentences: says(Must, "", "Archives 5", "Archives 6"),
		Text: "The entries of archives of changes have the attribute from.", Remedy: "Copy it from the archived document.",
	}, {
		ID: "entry-until-missing", Harm: Warning, Sentences: says(Must, "", "Archives 5", "Archives 6"),
		Text: "The entries of archives of changes have the attribute until.", Remedy: "Copy it from the archived document; archive only closed ones.",
	}, {
		ID: "entry-change-missing", Harm: Error, Sentences: []Sentence{
			{"Core 12.1", Must, "A mandatory <rs:md> child element must have the attribute change to convey the nature of the change."},
			{"Core 13.2", Must, "A mandatory <rs:md> child element must have a change attribute to convey the type of change the resource underwent."},
			{"Change Notification 3", Must, "A mandatory <rs:md> child element must have the attribute change to convey the nature of the change."},
			{"Framework Notification 3", Must, "The mandatory change attribute is used to convey the nature of the change."},
		},
		Text: "The entries of Change Lists, Change Dump Manifests and notifications have the attribute change.", Remedy: "Add created, updated or deleted.",
	}, {
		ID: "entry-path-missing", Harm: Error, Sentences: []Sentence{
			{"Core 11.2", Must, "A mandatory <rs:md> child element must have a path attribute to convey the location of the bitstream within the package."},
			{"Core 13.2", Must, `Except in the case of change="deleted", the element must also have a path attribute to convey the location of the bitstream`},
		},
		Text: "The entries of manifests have the attribute path.", Remedy: "Add the path of the file in the package, with a leading slash.",
	}, {
		ID: "entry-capability-missing", Harm: Error, Sentences: []Sentence{
			{"Core 9", Must, "A mandatory <rs:md> child element must have a capability attribute to convey the type of the respective capability."},
			{"Core 8", Must, "An optional <rs:md> child element must have a capability attribute with a value of capabilitylist"},
			{"Framework Notification 3", Must, "The mandatory capability attribute is used to indicate the component of the framework that has changed."},
		},
		Text: "The entries of Capability Lists have the attribute capability.", Remedy: "Add the capability of the document that the entry leads to.",
		Seen: []string{"RSEngine", "hikamers", "nexarium"},
	}, {
		ID: "entry-capability", Harm: Error, Sentences: says(Must, "An optional <rs:md> child element must have a capability attribute with a value of capabilitylist", "Core 8"),
		Text: "The entries of a Source Description are Capability Lists.", Remedy: "Move other documents into the Capability List of their set.",
	}, {
		ID: "capability-repeated", Harm: Error, Sentences: says(Must, "A Capability List must only contain one entry per capability.", "Core 9"),
		Text: "A Capability List has one entry for each capability.", Remedy: "Publish an index of the lists, and list only the index.",
		Seen: []string{"WEKO3 (one Change List a day)", "Alexanarch", "py-resourcesync"},
	}, {
		ID: "entry-order", Harm: Error,
		Sentences: slices.Concat([]Sentence{
			{"Core 12.1", Must, "All entries in a Change List must be provided in forward chronological order"},
			{"Core 12.2", Must, "A Change List Index must enumerate Change Lists in forward chronological order."},
			{"Core 13.2", Must, "All entries in a Change Dump Manifest must be provided in forward chronological order"},
			{"Change Notification 3", Must, "All entries in a change notification must be provided in forward chronological order"},
		}, says(Must, "", "Archives 3", "Archives 4", "Archives 5", "Archives 6")),
		Text: "Changes, and lists of changes, are in forward chronological order.", Remedy: "Sort by datetime, the oldest first.",
	}, {
		ID: "datetime-interval", Harm: Error,
		Sentences: says(Must, "The value must be equal to or after the from datetime, and before or equal to the until datetime if specified.", "Core 7"),
		Text:      "The datetime of a change is within from and until of its document.", Remedy: "Correct the interval, or move the change to the document of its time.",
	}, {
		ID: "until-before-from", Harm: Error,
		Sentences: says(Must, "since the datetime expressed (and up until the datetime expressed in the until attribute, if it exists) are included in the document", "Core 7"),
		Text:      "until is not before from.", Remedy: "Check both times and their time zones.",
	},

	// Many Destinations read such documents nevertheless.
	{
		ID: "document-size", Harm: Warning, Sentences: says(Should, limitsSay, "Core 7"),
		Text: "A document has at most 50 MB (52,428,800 bytes), uncompressed.", Remedy: "Divide the list, and publish an index of its parts.",
	}, {
		ID: "document-entries", Harm: Warning, Sentences: says(Should, limitsSay, "Core 7"),
		Text: "A document has at most 50,000 entries.", Remedy: "Divide the list, and publish an index of its parts.",
	}, {
		ID: "doctype", Harm: Warning, Sentences: says(None, "", "rsxml"),
		Text: "Safe XML parsers need a document without a document type declaration.", Remedy: "Remove the declaration.",
	}, {
		ID: "unexpected-text", Harm: Warning, Sentences: says(Must, "", "Sitemap protocol"),
		Text: "There is no text between elements.", Remedy: "Remove the text.",
	}, {
		ID: "unexpected-element", Harm: Warning, Sentences: says(Must, "", "Sitemap protocol"),
		Text: "Documents have no other elements in the namespaces of Sitemaps and of ResourceSync than the specified ones.", Remedy: "Remove the element, or use a namespace of your own.",
	}, {
		ID: "element-repeated", Harm: Warning, Sentences: says(Must, "The element is not repeatable, and is mandatory for some documents and optional for others", "Core 7"),
		Text: "loc, lastmod, changefreq, priority and rs:md occur once in an entry, and rs:md once in a head.", Remedy: "Keep one of them.",
	}, {
		ID: "element-order", Harm: Warning, Sentences: []Sentence{
			{"Sitemap protocol", Must, ""},
			{"Core 7", Must, "A W3C XML Schema (available at http://www.openarchives.org/rs/resourcesync.xsd) is provided to validate the elements introduced by ResourceSync."},
		},
		Text: "The head is before the entries; in an entry, loc, lastmod, changefreq, priority, rs:md and rs:ln are in this order, as in the schemas.", Remedy: "Write the elements in that order.",
		Seen: []string{"POD (pod4lib aggregator)"},
	}, {
		ID: "attribute-unknown", Harm: Warning, Sentences: says(Must, attributeSay, "Core 7"),
		Text: "Elements have no other attributes without a namespace than the specified ones.", Remedy: "Remove the attribute, or use a namespace of your own.",
	}, {
		ID: "attribute-prefix", Harm: Warning, Sentences: says(Must, "these attributes must not have an XML Namespace prefix.", "Core 7"),
		Text: "Attributes of rs:md and rs:ln have no namespace prefix.", Remedy: `Write capability="…", not rs:capability="…".`,
	}, {
		ID: "attribute-misplaced", Harm: Warning, Sentences: says(Must, "Required use of the attributes is detailed in the sections describing the respective documents and summarized in Appendix A.", "Core 7"),
		Text: "An attribute is used only in documents and entries for which it is specified.", Remedy: "Remove the attribute; table 3 and Appendix A of the core specification list the uses.",
	}, {
		ID: "index-not-allowed", Harm: Warning, Sentences: []Sentence{
			{"Core 9", Should, "Thus no <sitemapindex> document structure is necessary and Sources should not generate such structures."},
			{"Core 11.2", Must, urlsetSays},
			{"Core 13.2", Must, urlsetSays},
			{"Change Notification 3", Must, "Change notifications do not use the <sitemapindex> document format introduced by the Sitemap protocol."},
			{"Framework Notification 3", Must, "Framework notifications do not use the <sitemapindex> document format introduced by the Sitemap protocol."},
		},
		Text: "Only Source Descriptions, lists, dumps and archives have indexes.", Remedy: "Publish a urlset instead.",
	}, {
		ID: "loc-length", Harm: Warning, Sentences: says(Must, "", "Sitemap protocol"),
		Text: "A loc has at most 2,048 characters.", Remedy: "Publish a shorter URI.",
	}, {
		ID: "changefreq-value", Harm: Advice, Sentences: says(Must, "Defined values are always, hourly, daily, weekly, monthly, yearly, and never.", "Core 7"),
		Text: "changefreq has one of its seven values, in lower case.", Remedy: "Use always, hourly, daily, weekly, monthly, yearly or never, or omit it.",
	}, {
		ID: "hash-syntax", Harm: Warning, Sentences: says(Must, "The attribute value is expressed in the form of a whitespace-delimited list of hash values.", "Core 7"),
		Text: "A hash is a list of algorithm:digest.", Remedy: `Write as in hash="sha-256:2d01…", with spaces between several.`,
		Seen: []string{"a Source that joins hashes with a comma"},
	}, {
		ID: "length-value", Harm: Warning, Sentences: says(Must, "should be equal to the value of the Content-Length header in the HTTP response and must be computed as defined in RFC 2616", "Core 7"),
		Text: "A length is a number of bytes.", Remedy: "Write digits only, or omit it.",
	}, {
		ID: "pri-value", Harm: Advice, Sentences: says(Must, "The attribute value is an integer between 1 and 999,999, with a lower integer indicating a higher priority", "Core 7"),
		Text: "pri is a number from 1 to 999,999.", Remedy: "Correct or omit it.",
	}, {
		ID: "link-rel-missing", Harm: Warning, Sentences: says(Must, "A mandatory attribute to express a relationship.", "Core 7"),
		Text: "An rs:ln has a rel.", Remedy: "Add the relation.",
	}, {
		ID: "link-href-missing", Harm: Warning, Sentences: says(Must, "A mandatory attribute to convey the URI of the other document.", "Core 7"),
		Text: "An rs:ln has an href.", Remedy: "Add the URI, or remove the link.",
	}, {
		ID: "completed-before-at", Harm: Warning,
		Sentences: says(Must, "conveys the datetime at which the process of taking a snapshot of resources for their inclusion in the document to which the attribute pertains completed.", "Core 7"),
		Text:      "completed is not before at.", Remedy: "Check both times and their time zones.",
	}, {
		ID: "path-slash", Harm: Warning, Sentences: says(Must, "it is expressed with a leading slash (/)", "Core 11.2", "Core 13.2"),
		Text: "The path of a file in a package begins with a slash.", Remedy: `Write path="/file", with "/" for the top level of the package.`,
		Seen: []string{"resync (Python)"},
	},
}
