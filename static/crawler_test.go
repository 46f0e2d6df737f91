package static

import (
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A crawler follows links in the folder out. It decodes a file again only if that has changed.
type crawler struct {
	out   string
	known map[string]page
}

// A page is what a crawler knows about a file.
type page struct {
	stamp  Stamp
	leads  []string         // URIs of its links and entries
	sizes  map[string]int64 // of packages, by URI
	listed int              // resources
}

func newCrawler(out string) *crawler { return &crawler{out, make(map[string]page)} }

func (c *crawler) path(name string) string { return filepath.Join(c.out, filepath.FromSlash(name)) }

// crawl follows all links from the Source Description, and returns the paths of the
// documents and packages, and the number of listed resources. It returns an error if a
// document is not valid, or a link leads nowhere.
func (c *crawler) crawl() (paths map[string]bool, listed int, err error) {
	paths = make(map[string]bool)
	if _, err := os.Stat(c.path(".well-known/resourcesync")); errors.Is(err, fs.ErrNotExist) {
		return paths, 0, nil // nobody finds the documents yet
	}
	queue := []string{origin + "/.well-known/resourcesync"}
	for len(queue) > 0 {
		uri := queue[0]
		queue = queue[1:]
		name, own := strings.CutPrefix(uri, origin+"/")
		if !own || strings.HasPrefix(name, "papers/") || paths[name] {
			continue
		}
		paths[name] = true
		p, err := c.read(name)
		if err != nil {
			return paths, listed, err
		}
		queue = append(queue, p.leads...)
		listed += p.listed
		for uri, size := range p.sizes {
			info, err := os.Stat(c.path(strings.TrimPrefix(uri, origin+"/")))
			if err != nil || info.Size() != size {
				return paths, listed, fmt.Errorf("%s: %s has not the length %d: %v", name, uri, size, err)
			}
		}
	}
	return paths, listed, nil
}

// read reads a file.
func (c *crawler) read(name string) (page, error) {
	info, err := os.Stat(c.path(name))
	if err != nil {
		return page{}, err
	}
	if p, ok := c.known[name]; ok && p.stamp == stampOf(info) {
		return p, nil
	}
	p := page{stamp: stampOf(info), sizes: make(map[string]int64)}
	if isPackage(name) {
		z, err := zip.OpenReader(c.path(name))
		if err != nil {
			return p, fmt.Errorf("%s: %w", name, err)
		}
		c.known[name] = p
		return p, z.Close()
	}
	f, err := os.Open(c.path(name))
	if err != nil {
		return p, err
	}
	defer f.Close()
	head, entries, err := rsxml.Decode(f)
	if err != nil {
		return p, fmt.Errorf("%s: %w", name, err)
	}
	for _, l := range head.Links {
		p.leads = append(p.leads, l.Href)
	}
	for _, e := range entries {
		p.leads = append(p.leads, e.Loc)
		for _, l := range e.Links {
			p.leads = append(p.leads, l.Href)
		}
		if head.Metadata.Capability == resourcesync.ResourceList && !head.Index {
			p.listed++
		}
		if size, stated := e.Metadata.Length.Bytes(); stated && isPackage(e.Loc) {
			p.sizes[e.Loc] = size
		}
	}
	c.known[name] = p
	return p, nil
}
