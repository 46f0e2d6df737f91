package check

// httpRules are rules of responses.
var httpRules = []Rule{
	{
		ID: "identity", Harm: Error, Sentences: says(Should, "", "RFC 9110 12.5.3"),
		Text: "A client that accepts no gzip receives none.", Remedy: "Compress only if Accept-Encoding allows it, and send Vary: Accept-Encoding.",
	}, {
		ID: "content-type-unreadable", Harm: Error, Sentences: says(None, "", "RFC 9110 8.3"),
		Text: "Destinations read documents of the media type application/xml or text/xml, and do not recognize other types.", Remedy: "Send Content-Type: application/xml.",
	}, {
		ID: "content-type", Harm: Advice, Sentences: says(None, "", "RFC 9110 8.3"),
		Text: "Some Destinations read only documents of the media type application/xml or text/xml.", Remedy: "Send Content-Type: application/xml.",
	}, {
		ID: "no-gzip", Harm: Advice, Sentences: says(None, "", "RFC 9110 8.4"),
		Text: "Destinations read compressed documents in a tenth of the bytes.", Remedy: "Enable gzip in the web server.",
	}, {
		ID: "no-validators", Harm: Advice, Sentences: says(Should, "", "RFC 9110 8.8"),
		Text: "Documents have an ETag or a Last-Modified.", Remedy: "Send one, so that Destinations can ask for changed documents only.",
	}, {
		ID: "no-304", Harm: Advice, Sentences: says(Should, "", "RFC 9110 13.1"),
		Text: "The answer to a conditional request for an unchanged document is 304.", Remedy: "Compare If-None-Match with the ETag, or If-Modified-Since with Last-Modified.",
	}, {
		ID: "unstable", Harm: Advice, Sentences: says(None, "It presents a snapshot of a Source's resources at a particular point in time.", "Core 10.1"),
		Text: "Destinations read a document again if it changes although its entries do not.", Remedy: "Do not write the time of the request into documents.",
		Seen: []string{"the simulator of the specification's authors"},
	}, {
		ID: "redirected", Harm: Advice, Sentences: says(None, "", "RFC 9110 15.4"),
		Text: "Destinations need two requests for a document that is listed by another URL than its own.", Remedy: "List the URL to which the redirect leads.",
	},
}

// contentRules are rules of resources and packages.
var contentRules = []Rule{
	{
		ID: "resource-unreachable", Harm: Error,
		Sentences: says(Must, "A Resource List is introduced to list and describe the resources that a Source makes available for synchronization.", "Core 10.1"),
		Text:      "Resources that are listed can be requested.", Remedy: "Remove the entry, or publish the resource.",
	}, {
		ID: "resource-length", Harm: Error,
		Sentences: says(Must, "The value of the attribute conveys the content length of a resource representation returned when the URI in <loc> is dereferenced.", "Core 7"),
		Text:      "The length of a resource is the one that its entry states.", Remedy: "Update the entry whenever the content changes.",
	}, {
		ID: "resource-hash", Harm: Error,
		Sentences: says(Must, "The value of the attribute conveys fixity information for a resource representation returned when the URI in <loc> is dereferenced.", "Core 7"),
		Text:      "The content of a resource has the hash that its entry states.", Remedy: "Update the entry whenever the content changes.",
	}, {
		ID: "package-unreachable", Harm: Error, Sentences: says(Must, "A mandatory <loc> child element provides the URI of the package.", "Core 11.1", "Core 13.1"),
		Text: "Packages that are listed can be requested.", Remedy: "Remove the entry, or publish the package.",
		Seen: []string{"py-resourcesync (local paths)"},
	}, {
		ID: "package-changed", Harm: Error,
		Sentences: says(Must, "The value of the attribute conveys fixity information for a resource representation returned when the URI in <loc> is dereferenced.", "Core 7"),
		Text:      "A package has the length and hash that its entry states.", Remedy: "Update the entry together with the package.",
	}, {
		ID: "package-unreadable", Harm: Error, Sentences: []Sentence{
			{"Core 11.1", Should, "The ResourceSync framework recommends the use of the ZIP file format as the packaging format."},
			{"Core 13.1", Should, "The ResourceSync framework specifies the use of the ZIP file format as the packaging format."},
		},
		Text: "A package is a ZIP file.", Remedy: "Write packages with a ZIP library, and check that they are sent completely.",
		Seen: []string{"the CORE connector (tar.xz)"},
	}, {
		ID: "package-name", Harm: Error, Sentences: says(Must, "", "ZIP 4.4.17"),
		Text: `Names of files in a package are relative, without ".." or backslashes.`, Remedy: "Write paths relative to the top level of the package, with slashes.",
	}, {
		ID: "manifest-missing", Harm: Error, Sentences: []Sentence{
			{"Core 11.2", Must, "Each ZIP package referred to from a Resource Dump must contain a Resource Dump Manifest file that describes the package's constituent bitstreams."},
			{"Core 13.2", Must, "Each ZIP package referred to from a Change Dump must contain a Change Dump Manifest file that describes the constituent bitstreams of the package."},
		},
		Text: "A package has the file manifest.xml at its top level.", Remedy: "Add the manifest.",
		Seen: []string{"resync (Python): separate manifests"},
	}, {
		ID: "manifest-capability", Harm: Error, Sentences: []Sentence{
			{"Core 11.2", Must, "must have a capability attribute with a value of resourcedump-manifest."},
			{"Core 13.2", Must, "must have a capability attribute that has a value of changedump-manifest."},
		},
		Text: "The manifest belongs to the kind of dump that lists the package.", Remedy: "Use resourcedump-manifest in Resource Dumps, and changedump-manifest in Change Dumps.",
	}, {
		ID: "package-file-missing", Harm: Error, Sentences: []Sentence{
			{"Core 11.2", Must, "A mandatory <rs:md> child element must have a path attribute to convey the location of the bitstream within the package."},
			{"Core 13.2", Must, "the element must also have a path attribute to convey the location of the bitstream within the ZIP package."},
		},
		Text: "Each path of a manifest is a file of the package.", Remedy: "Add the file, or remove the entry.",
	}, {
		ID: "package-file-content", Harm: Error,
		Sentences: says(Must, "The value of the attribute conveys fixity information for a resource representation returned when the URI in <loc> is dereferenced.", "Core 7"),
		Text:      "A file has the length and hash that the manifest states.", Remedy: "Write manifest and file from the same content.",
	}, {
		ID: "contents-differ", Harm: Error, Sentences: []Sentence{
			{"Core 11.1", Must, "the Source needs to ensure that the referred Manifest corresponds with the Manifest included in the bitstream package."},
			{"Core 13.1", Must, "If such pointers are provided, the Source must ensure that the Manifest referred to matches the Manifest included in the bitstream package."},
		},
		Text: `The document that rel="contents" leads to is the manifest of the package.`, Remedy: "Publish the manifest of the package, or remove the link.",
	}, {
		ID: "package-file-unlisted", Harm: Warning, Sentences: []Sentence{
			{"Core 11.2", Must, "One <url> child element of <urlset> per bitstream."},
			{"Core 13.2", Must, "must be included in the ZIP package and the Change Dump Manifest must refer to each."},
		},
		Text: "Each file of a package has an entry in the manifest.", Remedy: "Add the entry, or remove the file.",
	}, {
		ID: "version-missing", Harm: Warning,
		Sentences: says(Must, "A mandatory href attribute that conveys the time-specific URI of the resource that corresponds with the time of last modification.", "Core 14.6"),
		Text:      "Links to versions lead to versions.", Remedy: "Publish the version, or remove the link.",
	}, {
		ID: "package-size", Harm: Warning, Sentences: says(None, "", "check"),
		Text: "The check reads packages with at most a million files.", Remedy: "Divide the package.",
	}, {
		ID: "resource-type", Harm: Advice,
		Sentences: says(Must, "The value of the attribute conveys the Media Type of a resource representation returned when the URI in <loc> is dereferenced.", "Core 7"),
		Text:      "The media type of a resource is the one that its entry states.", Remedy: "Send the same Content-Type as the list states.",
	}, {
		ID: "manifest-position", Harm: Advice, Sentences: says(None, "The file must be named manifest.xml and must be located at the top level of the ZIP package.", "Core 11.2", "Core 13.2"),
		Text: "Destinations can process a package while it arrives if the manifest is its first file.", Remedy: "Write the manifest first.",
	},
}
