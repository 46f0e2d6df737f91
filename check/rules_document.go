package check

// The mandatory links of lists and of indexes.
const (
	upOfList  = "A mandatory <rs:ln> child element of <urlset> points to the Capability List with the relation type up."
	upOfIndex = "A mandatory <rs:ln> child element of <sitemapindex> points to the Capability List with the relation type up."
)

// documentRules are further rules of a single document.
var documentRules = []Rule{
	{
		ID: "time-future", Harm: Error,
		Sentences: says(Must, "It thus provides a guarantee that each resource state represented in the document is the result of all changes to the resource", "Core 7"),
		Text:      "Times of a document are not in the future.",
		Remedy:    "Check the clock of the server, and that local time is not labelled as UTC. Destinations skip changes before the latest time that they have read.",
	}, {
		ID: "capability-unknown", Harm: Warning, Sentences: []Sentence{
			{"Core 7", Must, "Defined values are resourcelist, changelist, resourcedump, changedump, resourcedump-manifest, changedump-manifest, capabilitylist, and description."},
			{"Core 6.1", None, "Additional capabilities may be defined in other specifications."},
		},
		Text:   "Destinations need a capability that they know.",
		Remedy: "Use a specified word. An index has the capability of its parts; description and changelist have replaced resourcesync and changeset of drafts.",
		Seen:   []string{"POD (pod4lib aggregator): resourceList"},
	}, {
		ID: "hash-digest", Harm: Warning,
		Sentences: says(Must, "Each hash value is represented by a hex-encoded digest and is preceded by a token that identifies the utilized hash algorithm", "Core 7"),
		Text:      "The digest of a hash is hexadecimal, and as long as its algorithm says.", Remedy: "Write the digest in hexadecimal digits.",
		Seen: []string{"a repository in TypeScript (sha-256:ID)"},
	}, {
		ID: "type-syntax", Harm: Warning,
		Sentences: says(Must, "The value of the attribute conveys the Media Type of a resource representation returned when the URI in <loc> is dereferenced.", "Core 7"),
		Text:      "A type is a media type.", Remedy: "Write type/subtype, as in text/html.",
	}, {
		ID: "link-up-missing", Harm: Advice, Sentences: []Sentence{
			{"Core 9", Must, "A mandatory <rs:ln> child element of <urlset> with the relation type up points to the Source Description document"},
			{"Core 10.1", Must, upOfList},
			{"Core 10.2", Must, upOfIndex},
			{"Core 11.1", Must, upOfList},
			{"Core 11.2", Must, upOfList},
			{"Core 12.1", Must, upOfList},
			{"Core 12.2", Must, upOfIndex},
			{"Core 13.1", Must, upOfList},
			{"Core 13.2", Must, upOfList},
		},
		Text:   `Capability Lists, lists and dumps link to the document above them with rel="up".`,
		Remedy: "Add the link: to the Source Description in a Capability List, to the Capability List elsewhere.",
	}, {
		ID: "index-as-urlset", Harm: Error,
		Sentences: says(Must, "If multiple documents are required, each is expressed using the <urlset> document format, and a <sitemapindex> document is introduced as an index", "Core 6.1"),
		Text:      "An index is a sitemapindex.", Remedy: "Write sitemapindex and sitemap instead of urlset and url.",
		Seen: []string{"WEKO3"},
	}, {
		ID: "relation-unregistered", Harm: Advice,
		Sentences: says(Must, "Valid relation types must be registered in the IANA Link Relation Type Registry or expressed as URIs", "Core 7"),
		Text:      "A relation is registered at IANA (as of August 2026), or a URI.", Remedy: "Use a registered relation, or a URI of your own.",
	}, {
		ID: "patch-type-missing", Harm: Warning,
		Sentences: says(Must, "A mandatory type attribute that conveys the Media Type of the change description.", "Core 14.4"),
		Text:      "A link to a patch has a type.", Remedy: "Add the media type, such as application/json-patch.",
	}, {
		ID: "patch-path-missing", Harm: Warning,
		Sentences: says(Must, "the entry in the Change Dump Manifest must have the path attribute for the <rs:ln> element that points to the change description", "Core 14.4"),
		Text:      "A link to a patch in a Change Dump Manifest has a path.", Remedy: "Add the path of the patch in the package.",
	}, {
		ID: "patch-misplaced", Harm: Warning,
		Sentences: says(Must, "Expressing resource changes in this manner is only applicable to Change Lists (as in Example 27) and Change Dumps.", "Core 14.4"),
		Text:      "Only Change Lists and Change Dumps link to patches.", Remedy: "Remove the link.",
	}, {
		ID: "timegate-attributes", Harm: Advice, Sentences: says(Should, "should not be used as they are meaningless for TimeGates.", "Core 14.6"),
		Text: "A link to a TimeGate has only the attributes rel and href.", Remedy: "Remove the others.",
	}, {
		ID: "package-order", Harm: Warning, Sentences: says(Should, "All entries in a Change Dump should be provided in forward chronological order", "Core 13.1"),
		Text: "Packages of changes are in forward chronological order, in a Change Dump and in its index.", Remedy: "Sort by from, the oldest first.",
	}, {
		ID: "package-formats", Harm: Warning, Sentences: []Sentence{
			{"Core 11.1", Should, "A Resource Dump should only point to packages of the same format."},
			{"Core 13.1", Should, "A Change Dump should only point to packages of the same format."},
		},
		Text: "A dump links to packages of one format.", Remedy: "Publish ZIP files only.",
	}, {
		ID: "until-after-index", Harm: Warning, Sentences: []Sentence{
			{"Core 12.2", Must, "It also has the mandatory from and the optional until attributes to convey the temporal interval covered by the Change List Index."},
			{"Core 13.1", Must, "It also has the mandatory from and the optional until attributes to convey the temporal interval covered by the Change Dump."},
		},
		Text: "until of an entry is not after until of its index or dump.", Remedy: "Correct the until of the index, or omit it while lists are added.",
	}, {
		ID: "open-in-closed-index", Harm: Warning,
		Sentences: says(Must, "When a document carries the until attribute, this indicates that the document will not be updated anymore.", "Core 7"),
		Text:      "A closed index lists closed lists only.", Remedy: "Omit the until of the index while one of its lists is open.",
	}, {
		ID: "deleted-described", Harm: Advice, Sentences: says(None, "The element may also have attributes datetime, hash, length, and type", "Core 12.1"),
		Text: "The hash, length or type of a deleted resource describes a representation that no longer exists.", Remedy: "Omit them.",
	}, {
		ID: "link-index-missing", Harm: Advice, Sentences: []Sentence{
			{"Core 10.1", Should, "In case a Resource List Index exists, a recommended <rs:ln> child element of <urlset> points to it with the relation type index."},
			{"Core 11.1", Should, "In case a Resource Dump Index exists, a recommended <rs:ln> child element of <urlset> points to it with the relation type index."},
			{"Core 12.1", Should, "In case a Change List Index exists, a recommended <rs:ln> child element of <urlset> points to it with the relation type index."},
			{"Core 13.1", Should, "In case a Change Dump Index exists, a recommended <rs:ln> child element of <urlset> points to it with the relation type index."},
			{"Core 6.2", Should, "A link for navigation from a document to the index under which it resides, if one exists, is provided by means of an <rs:ln>"},
		},
		Text: `A part of a list links to its index with rel="index".`, Remedy: "Add the link, so that a Destination that has read the part finds the others.",
	}, {
		ID: "datetime-missing", Harm: Warning, Sentences: []Sentence{
			{"Core 12.1", None, "The Source can make it easier for a Destination to determine which change event it has last processed by providing a datetime attribute"},
			{"Change Notification 3", None, "It has the optional datetime attribute to convey the datetime of the change"},
		},
		Text:   "Destinations need the datetime of each change to continue after the last one that they have read.",
		Remedy: "Add the time of each change.",
		Seen:   []string{"resync (Python) with --write-changelist", "Sources of version 1.0"},
	}, {
		ID: "lastmod-missing", Harm: Advice, Sentences: []Sentence{
			{"Core 10.2", None, "An optional <lastmod> child element with semantics as described in Section 7."},
			{"Core 11.1", None, "An optional <lastmod> child element with semantics as described in Section 7."},
			{"Core 12.2", Should, "A recommended <rs:md> child element with the from and possibly until attributes to convey the temporal interval covered by the Change List."},
			{"Core 13.1", May, "It may also have the from and until attributes to convey the temporal interval covered by the package."},
			{"Core 7", None, "The use of <lastmod> is optional in all ResourceSync documents."},
		},
		Text: "Destinations need a lastmod, or the times of a part, in the entries of an index to read only parts that have changed.", Remedy: "Add one.",
	}, {
		ID: "resource-undescribed", Harm: Advice,
		Sentences: says(None, "An optional <rs:md> child element provides further metadata about the resource.", "Core 10.1"),
		Text:      "Destinations need a lastmod, hash or length to tell which resources have changed without requesting them.", Remedy: "Add them to the entries of the Resource List.",
	}, {
		ID: "hash-algorithm", Harm: Advice, Sentences: says(None, "is preceded by a token that identifies the utilized hash algorithm, e.g., md5:, sha-256:.", "Core 7"),
		Text: "Every Destination can verify md5, sha-1 or sha-256, and few verify other hashes.", Remedy: "Add a sha-256.",
	}, {
		ID: "newest-first", Harm: Warning,
		Sentences: says(None, "the time expressed may not correspond with the datetime of the last ResourceSync change event", "Core 7"),
		Text:      "The lastmod of changes without datetime descends, as if the newest change came first.", Remedy: "Sort by the time of the change, the oldest first, and add datetime.",
		Seen: []string{"Hyrax"},
	}, {
		ID: "document-large", Harm: Advice, Sentences: says(None, limitsSay, "Core 7"),
		Text: "Some Destinations read a document of more than 10 MB slowly, because they hold it in memory.", Remedy: "Divide the list, and publish an index of its parts.",
	},
}
