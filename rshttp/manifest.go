package rshttp

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// renderManifest makes the manifest of a package, as it is in the package
// (sections 11.2 and 13.2).
func (s *Source) renderManifest(ctx context.Context, t target) (*document, error) {
	_, doc, err := s.manifest(ctx, t)
	return doc, err
}

// manifest makes the manifest t, and returns the contents of its package.
func (s *Source) manifest(ctx context.Context, t target) (*packages.Contents, *document, error) {
	if t.kind == kindChangeManifest {
		return s.changeManifest(ctx, t)
	}
	return s.dumpManifest(ctx, t)
}

// dumpManifest makes the manifest t of a package of resources.
func (s *Source) dumpManifest(ctx context.Context, t target) (*packages.Contents, *document, error) {
	r, ok := partition.ParseRange(t.part)
	if !ok {
		return nil, nil, notExist("a range of keys", t)
	}
	unlisted := !t.set.packages.Lists(r)
	var b render.Body
	defer b.Free()
	c, doc, err := s.listPackage(ctx, t, r, &b)
	switch {
	case errors.Is(err, errOutgrown):
		if !unlisted {
			t.set.packages.Invalidate()
		}
		return nil, nil, s.outgrown(t)
	case err != nil:
		return nil, nil, err
	case unlisted:
		doc.version, c.Unlisted = "", true
	}
	if doc, err = doc.complete(b.Text()); err != nil {
		return nil, nil, err
	}
	c.Text = doc.Text
	return c, doc, nil
}

// listPackage writes the manifest t of the package with the resources in r into b.
func (s *Source) listPackage(ctx context.Context, t target, r resourcesync.Range, b *render.Body) (*packages.Contents, *document, error) {
	c := packages.NewContents(false)
	doc, err := s.listResources(ctx, t, r, rsxml.MaxEntries, b, func(res resourcesync.Resource) (string, error) {
		path, err := c.AddResource(res)
		if err == nil && s.packageSize().Exceeded(c) {
			err = errOutgrown
		}
		return path, err
	})
	if err != nil {
		return nil, nil, err
	}
	c.At, c.Text.Size = b.Head.Metadata.At, b.Len()
	return c, doc, nil
}

// outgrown answers a request for a package of resources that would be too large.
func (s *Source) outgrown(t target) error {
	return &goneError{index: s.routes.url(kindResourceDump, t.set, ""), reason: errOutgrown.Error()}
}

// changeManifest makes the manifest t of a package of changes.
func (s *Source) changeManifest(ctx context.Context, t target) (*packages.Contents, *document, error) {
	begin, _, _ := strings.Cut(t.part, "-")
	from, err := partition.ParseTime(begin)
	if err != nil || from.After(time.Now()) {
		return nil, nil, notExist("an interval of the past", t)
	}
	dump, err := s.changePackages(ctx, t.set)
	if err != nil {
		return nil, nil, err
	}
	i, found := partition.Find(dump.packages, from)
	if !found || packageName(dump.packages[i]) != t.part {
		return nil, nil, s.dumpMoved(t)
	}
	var b render.Body
	defer b.Free()
	c, doc, err := s.listChangePackage(ctx, t, dump.packages[i], &b)
	if errors.Is(err, errMoved) {
		err = s.dumpMoved(t)
	}
	if err == nil {
		doc, err = doc.complete(b.Text())
	}
	if err != nil {
		return nil, nil, err
	}
	c.Text = doc.Text
	return c, doc, nil
}

// listChangePackage writes the manifest t of the package with the changes in iv into b.
func (s *Source) listChangePackage(ctx context.Context, t target, iv resourcesync.Interval, b *render.Body) (*packages.Contents, *document, error) {
	c := packages.NewContents(t.set.patchOpener != nil)
	doc, err := s.changeDocument(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	if c.At, err = s.listChanges(ctx, t, t.set, iv, b, c.AddChange); err != nil {
		return nil, nil, err
	}
	c.Text.Size = b.Len()
	doc.forever, doc.from, doc.lastModified = true, iv.From, c.At
	return c, doc, nil
}
