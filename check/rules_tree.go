package check

// Section 12.1 leaves the intervals to the Source.
const intervalSays = "It is up to the Source to determine the publication frequency of Change Lists, as well as the temporal interval they cover."

// treeRules are rules between documents.
var treeRules = []Rule{
	{
		ID: "unreachable", Harm: Error, Sentences: says(Must, locSays, "Core 7"),
		Text: "Documents that are listed can be read.", Remedy: "Publish the document, or remove its entry. A new Source can answer 503 until it has scanned everything: then check it again.",
	}, {
		ID: "document-internal", Harm: Error, Sentences: says(None, locSays, "Core 7"),
		Text: "Destinations refuse documents and resources at private addresses.", Remedy: "List the public URL. To check a Source in your own network, allow its addresses: --allow-addresses 10.0.0.0/8, or Options.Allow.",
	}, {
		ID: "robots-disallowed", Harm: Error, Sentences: says(None, "", "RFC 9309 2.2"),
		Text: "Destinations do not request documents and resources that robots.txt disallows.", Remedy: "Allow them in robots.txt.",
	}, {
		ID: "part-capability", Harm: Error,
		Sentences: says(Must, "documents used for a specific capability (e.g., Resource List) have the same value for the capability attribute", "Core 6.1"),
		Text:      "A document has the capability that its entry states, and a part has the capability of its index.", Remedy: "Correct the entry or the document.",
	}, {
		ID: "index-nested", Harm: Error, Sentences: says(Must, "", "Sitemap protocol"),
		Text: "An index lists no other indexes.", Remedy: "List the parts in one index.",
	}, {
		ID: "discovery-endless", Harm: Error, Sentences: says(None, "", "destination"),
		Text:   "Destinations do not read Source Descriptions without an end: this module reads 100 of them in four levels, and 10,000 sets, within 100 MiB and ten minutes.",
		Remedy: "Publish one Source Description, which lists each Capability List once.",
	}, {
		ID: "list-paging", Harm: Error, Sentences: says(None, "The <sitemapindex> document format is used when it is necessary to group multiple documents of the <urlset> format.", "Core 7"),
		Text: `Most harvesters stop before documents to which only links with rel="next" lead.`, Remedy: "Publish a sitemapindex that lists all pages.",
		Seen: []string{"Heratio and other software with pages of a query"},
	}, {
		ID: "resource-conflict", Harm: Error, Sentences: says(None, "One <url> child element of <urlset> should be included for each resource.", "Core 10.1"),
		Text: "Destinations keep one of several entries of a resource, and cannot know which one is true.", Remedy: "List each resource once. If an index lists pages of a moving query, divide it by a key instead.",
	}, {
		ID: "changes-gap", Harm: Error, Sentences: says(None, intervalSays, "Core 12.1"),
		Text:   "Destinations lose the changes between the at of the Resource List and the first from of the Change Lists.",
		Remedy: "Keep each change until the at of the Resource List is later, or publish the list more often.",
	}, {
		ID: "list-contradicts-changes", Harm: Error,
		Sentences: says(Must, "It thus provides a guarantee that each resource state represented in the document is the result of all changes to the resource", "Core 7"),
		Text:      "A Resource List agrees with the changes before its at.", Remedy: "Build the lists from the same data, and list deletions and creations in both.",
	}, {
		ID: "closed-changed", Harm: Error,
		Sentences: says(Must, "When a document carries the until attribute, this indicates that the document will not be updated anymore; the Change List is closed.", "Core 12.1"),
		Text:      "A closed Change List does not change.", Remedy: "Add changes to the open list.",
	}, {
		ID: "dump-incomplete", Harm: Error,
		Sentences: says(Must, "a given resource that appears in a Resource List must also appear in a Resource Dump", "Core 9"),
		Text:      "What is in the Resource List of a set is in its Resource Dump.", Remedy: "Build both from the same data, or remove the dump.",
	}, {
		ID: "link-uncovered", Harm: Advice,
		Sentences: says(Must, "This means that the resource must be covered by the capabilities listed in the linked Capability List.", "Core 6.3.3"),
		Text:      `A resource that links to a Capability List with rel="resourcesync" is in the lists of that set.`, Remedy: "List the resource, or remove the link.",
	}, {
		ID: "part-interval", Harm: Warning, Sentences: []Sentence{
			{"Core 12.2", Must, "A recommended <rs:md> child element with the from and possibly until attributes to convey the temporal interval covered by the Change List."},
		},
		Text: "from and until of an entry equal from and until of the document that it leads to.", Remedy: "Copy them from the document. An open list has no until in the index either.",
	}, {
		ID: "interval-gap", Harm: Warning, Sentences: []Sentence{
			{"Core 12.2", None, intervalSays},
			{"Core 13.1", None, "It is up to the Source to determine the publication frequency of these packages, as well as the temporal interval they cover."},
		},
		Text: "Destinations cannot know whether something has changed between two lists of changes.", Remedy: "Begin each list where the one before ends, even if nothing has changed.",
	}, {
		ID: "interval-overlap", Harm: Advice, Sentences: []Sentence{
			{"Core 12.2", None, intervalSays},
			{"Core 13.1", None, "It is up to the Source to determine the publication frequency of these packages, as well as the temporal interval they cover."},
		},
		Text: "Destinations read the same changes twice in lists whose intervals overlap.", Remedy: "Begin each list where the one before ends, and close each before the next begins.",
	}, {
		ID: "link-up-wrong", Harm: Warning,
		Sentences: says(Must, "the URI of the document that sits higher in the hierarchy is provided as the value of the href attribute", "Core 6.2"),
		Text:      `rel="up" leads to the Capability List that lists this document, or to the Source Description.`, Remedy: "Correct the link.",
		Seen: []string{"POD (pod4lib aggregator): to the index"},
	}, {
		ID: "link-index-wrong", Harm: Warning,
		Sentences: says(Must, "and the URI of the index document is provided as the value of the href attribute.", "Core 6.2"),
		Text:      `rel="index" leads to the index that lists this document.`, Remedy: "Correct the link.",
	}, {
		ID: "well-known-missing", Harm: Advice, Sentences: says(Should, "it should be published at the well-known URI", "Core 6.3.2"),
		Text: "The Source Description is at /.well-known/resourcesync.", Remedy: "Publish or redirect it there, because Destinations look there first.",
	}, {
		ID: "baseline-missing", Harm: Advice, Sentences: says(May, "A Source may publish a description of the resources it makes available for synchronization.", "Core 10"),
		Text: "Destinations begin with a Resource List or a Resource Dump.", Remedy: "Publish one, because a Destination cannot begin with changes.",
	}, {
		ID: "changes-missing", Harm: Advice, Sentences: says(May, "A Source may publish a record of the changes to its resources.", "Core 12"),
		Text: "Destinations without a Change List compare the whole Resource List each time.", Remedy: "Publish a Change List.",
	}, {
		ID: "resource-repeated", Harm: Advice, Sentences: says(None, "One <url> child element of <urlset> should be included for each resource.", "Core 10.1"),
		Text: "A resource has several entries with the same metadata.", Remedy: "List each resource once.",
	}, {
		ID: "index-empty", Harm: Advice, Sentences: says(None, formatsSay, "Core 7"),
		Text: "Some harvesters consider an index without entries damaged.", Remedy: "Publish an empty list instead of an empty index.",
	}, {
		ID: "mixed-hosts", Harm: Advice, Sentences: says(None, "", "Sitemap protocol"),
		Text: "Some Destinations refuse resources and documents at another host than the document that lists them.", Remedy: "List them under one scheme and host.",
	},
}
