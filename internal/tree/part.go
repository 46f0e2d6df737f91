package tree

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// IsPart reports whether an entry of a document with head leads to a part of the same list:
// all entries of an index do. Some Sources write an index as a urlset. Its entries have the
// capability of their list, unlike entries of resources and packages.
func IsPart(head *rsxml.Head, e *rsxml.Entry) bool {
	if head.Index {
		return true
	}
	m := &e.Metadata
	if m.Capability == "" || m.Change != "" || m.Path != "" {
		return false
	}
	capability := Today(m.Capability)
	if capability != Today(head.Metadata.Capability) {
		return false
	}
	switch capability {
	case resourcesync.ResourceList, resourcesync.ChangeList:
		return true
	case resourcesync.ResourceDump, resourcesync.ChangeDump:
		return !isPackage(e)
	}
	return false
}

// isPackage reports whether an entry of a dump leads to a package, with any capability.
func isPackage(e *rsxml.Entry) bool {
	hasManifest := slices.ContainsFunc(e.Links, func(l resourcesync.Link) bool { return l.Rel == resourcesync.RelContents })
	return hasManifest || e.Metadata.Type != "" && !strings.Contains(e.Metadata.Type, "xml") || strings.HasSuffix(e.Loc, ".zip")
}

// Next returns the URL of the document that continues the one at base, or "". The specification has
// no such documents: a list in several documents has an index. Only the first link counts.
func Next(links []resourcesync.Link, base *url.URL) (string, error) {
	for _, l := range links {
		if l.Rel != "next" {
			continue
		}
		uri, ok := Resolve(base, l.Href)
		if !ok {
			return "", fmt.Errorf("it continues at %.100q, which is not a URL", l.Href)
		}
		return uri, nil
	}
	return "", nil
}

// Continues reports whether the list at base may continue at next: only at the same host.
func Continues(base *url.URL, next string) bool {
	u, err := url.Parse(next)
	return err == nil && base != nil && strings.EqualFold(u.Hostname(), base.Hostname())
}
