package static

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// A doc is a document or a package to be written.
type doc struct {
	document.Target
	name      string          // of the file
	validator string          // identifies the bytes; empty if the state is unknown
	state     *document.State // of a document
	check     func() error    // whether the content has the version in name; may be nil
}

// group returns the list or the dump to which d belongs. It is empty for the Source Description.
func (d *doc) group() group {
	if d.Set == nil {
		return group{}
	}
	c := d.Kind.Capability
	switch d.Kind.Name {
	case document.KindSitemap, document.KindSitemapPage:
		c = resourcesync.ResourceList
	case document.KindDumpManifest, document.KindDumpPackage:
		c = resourcesync.ResourceDump
	case document.KindChangeManifest, document.KindChangePackage:
		c = resourcesync.ChangeDump
	}
	return group{d.Set.Name, c}
}

// A content is the content of a document or a package. WriteTo can be called several times.
type content interface {
	io.WriterTo
	zipped() []byte // as a gzip file; nil for a package
	close()
}

// open renders the document d, or plans the package, whose content is read later.
func (s *Source) open(ctx context.Context, d *doc) (content, error) {
	c, err := s.render(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	if d.check != nil {
		if err := d.check(); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

func (s *Source) render(ctx context.Context, d *doc) (content, error) {
	if d.Kind.Form == document.FormPackage {
		pkg := d.Package()
		plan, err := s.plans.Plan(ctx, pkg)
		return &packed{ctx, s.plans, pkg, plan}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.site.RenderTimeout)
	defer cancel()
	text, _, err := d.RenderIn(ctx, d.state)
	return rendered{&text}, err
}

type rendered struct{ *render.Text }

func (t rendered) WriteTo(w io.Writer) (int64, error) { return int64(t.Size), t.WritePlain(w) }
func (t rendered) zipped() []byte                     { return t.Gzip }
func (t rendered) close()                             {}

type packed struct {
	ctx   context.Context
	plans *packages.Planner[*document.State]
	pkg   *packages.Package[*document.State]
	plan  *packages.Plan[*document.State]
}

func (p *packed) WriteTo(w io.Writer) (int64, error) {
	r := p.plans.NewReader(p.ctx, p.pkg, p.plan)
	defer r.Close()
	n, err := r.WriteTo(w)
	if _, ok := errors.AsType[*virtualzip.EntryError](err); ok {
		uri, reason := p.plans.Failed(p.plan, err)
		err = fmt.Errorf("%s: the content of %s is not what was listed, or cannot be read: %w", p.pkg.Path, uri, reason)
	}
	return n, err
}

func (p *packed) zipped() []byte { return nil }
func (p *packed) close()         { p.plans.Release(p.plan) }
