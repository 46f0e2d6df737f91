package providertest

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/digest"
)

// Content returns the content of a resource that the suite has created, which its Length
// and Hashes describe. Openers need it.
func Content(r resourcesync.Resource) []byte {
	return []byte("This is " + r.Key + " in version " + r.Stamp + ".\n")
}

// Patch returns the content of the patch to which a link with RelPatch leads, in a resource
// that the suite has created. The Length and Hashes of the link describe it. PatchOpeners
// need it.
func Patch(l resourcesync.Link) []byte { return []byte("What " + l.Href + " changes.\n") }

// newPatch returns a link to a patch of the resource.
func newPatch(r resourcesync.Resource) resourcesync.Link {
	l := resourcesync.Link{Rel: resourcesync.RelPatch, Href: r.URI + ".patch", Type: "text/x-diff", Modified: r.LastModified}
	l.Length, l.Hashes = described(Patch(l))
	return l
}

// awkwardKeys are keys that implementations tend to misorder, to confuse or to misread.
var awkwardKeys = []string{
	// A locale orders these differently from their bytes.
	"A", "B", "Z", "a", "b", "z", "aA", "aa", "ab", "é", "ê", "e\u0301", "日本", "😀", "ÿ", "_", "~", "-", "a-b", "a_b",
	// Keys that look like numbers are ordered as strings.
	"1", "10", "010", "9",
	// Keys and prefixes of them. Trailing white space counts.
	"a\x01", "a\x01b", "a ", "a/", "a//", "a/b", "a/b/c", "a.", "a0", "é/",
	// Patterns, quotes and escapes of query languages, shells and URLs.
	"%", "%41", "a%", "a%41", "*", "?", "a?b=c&d", "#", "'", "a'b", `"`, `\`, `\x41`, "$1", ";", "a+b", "..", "<&>",
	// White space and control characters, without NUL, which PostgreSQL cannot
	// store in text.
	" ", "  ", "\t", "\n", "\r\n", "\x01", "\x1f", "\x7f", "\u0085", "\u00a0", "\ufeff",
	// The longest keys.
	strings.Repeat("k", resourcesync.MaxKeyLength-1),
	strings.Repeat("k", resourcesync.MaxKeyLength),
	strings.Repeat("k", resourcesync.MaxKeyLength-1) + "~",
}

// awkward returns resources with awkward keys, in no particular order. All but the first
// have content, and the first few have rare fields.
func awkward() []resourcesync.Resource {
	all := make([]resourcesync.Resource, len(awkwardKeys))
	for i, key := range awkwardKeys {
		all[i] = newResource(key, 0)
	}
	all[0] = resourcesync.Resource{Key: all[0].Key, URI: all[0].URI}
	all[1].URI += "?version=1&part=%C3%A9"
	all[1].ChangeFreq = "weekly"
	all[2].Encoding = "gzip"
	all[2].LastModified = all[2].LastModified.Add(123456 * time.Microsecond)
	all[3].Links = []resourcesync.Link{
		{Rel: resourcesync.RelDescribedBy, Href: "https://example.org/about?a=1&b=2", Type: "application/ld+json"},
		{
			Rel: resourcesync.RelDuplicate, Href: "https://mirror.example.org/Z", Pri: 1,
			Hashes: all[3].Hashes, Length: resourcesync.Bytes(0), Modified: all[3].LastModified,
			Encoding: "br",
			Attrs:    []resourcesync.Attr{{Space: "https://example.org/ns", Name: "note", Value: "<&>\"'"}},
		},
	}
	all[5].Links = []resourcesync.Link{newPatch(all[5])}
	all[4].Attrs = []resourcesync.Attr{{Space: "https://example.org/ns", Name: "note", Value: "é"}}
	return all
}

// newResource returns a resource with this key. Its other fields depend on version.
func newResource(key string, version int) resourcesync.Resource {
	r := resourcesync.Resource{
		Key:          key,
		URI:          "https://example.org/" + url.PathEscape(key),
		LastModified: time.Date(1999, 1, 1, 0, 0, version, 0, time.UTC),
		Type:         "text/plain",
		Stamp:        fmt.Sprintf(`"%d"`, version),
	}
	r.Length, r.Hashes = described(Content(r))
	return r
}

// described returns the length and hashes of content.
func described(content []byte) (length resourcesync.Length, hashes []resourcesync.Hash) {
	sums := new(digest.Sums)
	for _, algorithm := range []string{"md5", "sha-1", "sha-256", "sha-512"} {
		sums.Add(algorithm)
	}
	sums.Write(content)
	return resourcesync.Bytes(int64(len(content))), sums.Hashes()
}
