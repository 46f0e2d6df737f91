package daemon

import (
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// reserved returns the URL paths of documents, which resources must not have: the folder of
// the prefix, or the names of all documents if there is no such folder; the well-known URI;
// and robots.txt if lines are added to it. Paths that end in a slash are folders. The path
// of the hub is the path of a folder, so it cannot collide with a file.
func (p *publication) reserved() []string {
	var paths []string
	if p.site.Prefix != "/" {
		paths = append(paths, p.documents.Path)
	} else {
		for _, path := range append(p.source.Paths(), "healthz", "readyz", "ping", site.CallbackPath) {
			paths = append(paths, p.documents.Path+path)
		}
	}
	paths = append(paths, wellknown.Path)
	if p.site.Robots || p.site.Sitemap {
		paths = append(paths, origin.RobotsPath)
	}
	return paths
}

// reserve tells the members which URL paths documents or other members have.
func (p *publication) reserve() {
	paths := p.reserved()
	for _, m := range p.members {
		if m.Content.Handler != nil {
			paths = append(paths, m.Base.Path)
		}
	}
	for _, m := range p.members { // nothing is reserved for the whole of a set
		m.Reserve(slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return strings.HasPrefix(m.Base.Path, path) }))
	}
}
