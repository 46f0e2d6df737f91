package rshttp

import (
	"github.com/resourcesync-go/resourcesync/internal/document"

	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// A Static renders all documents of a Source, for programs that store them as files; package
// static is one. They are the documents that a [Source] with the same sets and options
// serves, with one difference: the names of parts and packages are short and do not depend
// on the case of letters, so that every file system can hold them. The name of a package
// also depends on its version, so that a package never changes under its name.
//
// A Static is used by one goroutine at a time.
type Static struct {
	src   *Source
	print string // a digest of all that documents depend on beside the data of the sets
}

// NewStatic returns the documents of the Source that [New] would return. It fails if an
// argument is invalid, or if it needs a process that answers requests: Hub, Store and
// WebSocket of the options, and RemoteHubs and Memento of a set. Options that concern requests are
// ignored. opts may be nil.
func NewStatic(base string, sets []Set, opts *Options) (*Static, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Hub != nil || o.Store != nil || o.WebSocket != nil {
		return nil, errors.New("rshttp: a static Source cannot have a Hub, a Store or a WebSocket, because they need a process that runs")
	}
	for _, st := range sets {
		if len(st.RemoteHubs) > 0 || st.Memento {
			return nil, fmt.Errorf("rshttp: %s of a static Source cannot have RemoteHubs or Memento, because they need a process that runs", document.Title(st.Name))
		}
	}
	o.Pages, o.Limits.CacheBytes, o.Observe = Pages{Off: true}, -1, nil
	src, err := newSource(base, sets, &o, true)
	if err != nil {
		return nil, err
	}
	return &Static{src: src, print: src.print()}, nil
}

// print returns a digest of the configuration and the program.
func (s *Source) print() string {
	o := &s.options
	all := []string{s.site.Routes.Origin, s.site.Routes.Base, strconv.Itoa(o.Division.PageSize), o.Division.Window.String(), o.Division.Settle.String(),
		strconv.FormatInt(o.Division.PackageSize, 10), o.Division.PackageEvery.String(), string(s.site.Description.Text)}
	for _, st := range s.site.Order {
		all = append(all, st.Name, st.DescribedBy, fmt.Sprint(st.Capabilities()))
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		all = append(all, info.String())
	}
	return document.DigestOf(all...)
}

// Version identifies the configuration and the program: no document that was rendered in
// another version can be assumed to be the same.
func (s *Static) Version() string { return s.print }

// Folder returns the path of the base URL, with a slash at both ends.
func (s *Static) Folder() string { return s.src.site.Routes.Base }

// Description returns the public URL of the Source Description.
func (s *Static) Description() string { return s.src.Description() }

// Paths returns the paths below the base URL that documents can have, as [Source.Paths] does.
func (s *Static) Paths() []string { return s.src.Paths() }

// Sitemaps returns the URLs that robots.txt should name, according to the option Sitemaps (section 6.3.4).
func (s *Static) Sitemaps() []string { return s.src.sitemaps() }

// A StaticDocument is a document or a package of a [Static].
type StaticDocument struct {
	// Path is that of the URL, decoded. It begins with a slash.
	Path string

	// Set and Capability say to which list or dump the document belongs. They are empty
	// for the Source Description, and Capability is for plain sitemaps.
	Set        string
	Capability resourcesync.Capability

	// Validator identifies the bytes of the document: if two documents of the same path
	// have the same Validator, they are identical, even if another process has rendered
	// one of them. It is empty if the set does not know its state.
	Validator string

	open func(context.Context) (StaticContent, error)
}

// Open renders the document, or plans the package, whose content is read later.
func (d *StaticDocument) Open(ctx context.Context) (StaticContent, error) { return d.open(ctx) }

// StaticContent is the content of a document or a package. The caller closes it.
type StaticContent interface {
	// WriteTo writes the content. It can be called several times.
	io.WriterTo

	// Gzip returns the content as a gzip file, or nil for a package.
	Gzip() []byte

	Close() error
}

// validator returns the Validator of t in a state, which is empty if it is unknown.
func (s *Static) validator(t document.Target, state string) string {
	if state == "" {
		return ""
	}
	return document.DigestOf(s.print, t.Kind.Name, t.Part, state)
}

// document returns the document t in the state st, or of the configuration if st is nil.
// version is empty if the state is unknown. part names t in its URL.
func (s *Static) document(t document.Target, part, version string, st *document.State) *StaticDocument {
	d := s.at(t, part, version)
	d.open = func(ctx context.Context) (StaticContent, error) {
		ctx, cancel := context.WithTimeout(ctx, s.src.options.Limits.RenderTimeout)
		defer cancel()
		if st == nil {
			st = &document.State{}
		}
		text, _, err := t.RenderIn(ctx, st)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Path, err)
		}
		return staticText{&text}, nil
	}
	return d
}

// at returns the document t without its content.
func (s *Static) at(t document.Target, part, version string) *StaticDocument {
	d := &StaticDocument{Path: s.src.site.Routes.Path(t.Kind.Name, t.Set, part), Validator: s.validator(t, version)}
	if t.Set != nil {
		d.Set = t.Set.Name
		d.Capability = listCapability(t.Kind.Capability)
	}
	if t.Kind.Manifest != "" {
		d.Capability = listCapability(s.src.site.Routes.Kinds[t.Kind.Manifest].Capability)
	}
	return d
}

// listCapability returns c or, for the manifest of a dump, that of the dump.
func listCapability(c resourcesync.Capability) resourcesync.Capability {
	switch c {
	case resourcesync.ResourceDumpManifest:
		return resourcesync.ResourceDump
	case resourcesync.ChangeDumpManifest:
		return resourcesync.ChangeDump
	}
	return c
}

type staticText struct{ *render.Text }

func (t staticText) WriteTo(w io.Writer) (int64, error) { return int64(t.Size), t.WritePlain(w) }
func (t staticText) Gzip() []byte                       { return t.Text.Gzip }
func (t staticText) Close() error                       { return nil }

// packageAt returns the package t. check, which is called after it is planned, returns an
// error if it is not of the version that its name says.
func (s *Static) packageAt(t document.Target, part, version string, check func(context.Context) error) *StaticDocument {
	d := s.at(t, part, version)
	d.open = func(ctx context.Context) (StaticContent, error) {
		pkg := t.Package()
		plan, err := s.src.plans.Plan(ctx, pkg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Path, err)
		}
		p := &staticPackage{ctx, s.src, d.Path, pkg, plan}
		if err := check(ctx); err != nil {
			p.Close()
			return nil, err
		}
		return p, nil
	}
	return d
}

type staticPackage struct {
	ctx  context.Context
	src  *Source
	path string
	pkg  *packages.Package[*document.State]
	plan *packages.Plan[*document.State]
}

func (p *staticPackage) WriteTo(w io.Writer) (int64, error) {
	r := p.src.plans.NewReader(p.ctx, p.pkg, p.plan)
	defer r.Close()
	n, err := r.WriteTo(w)
	if _, ok := errors.AsType[*virtualzip.EntryError](err); ok {
		uri, reason := p.src.plans.Failed(p.plan, err)
		err = fmt.Errorf("%s: the content of %s is not what was listed, or cannot be read: %w", p.path, uri, reason)
	}
	return n, err
}

func (p *staticPackage) Gzip() []byte { return nil }

func (p *staticPackage) Close() error {
	p.src.plans.Release(p.plan)
	return nil
}

// digest returns a digest of values, for the state of an index.
func digest(values ...any) string {
	sum := sha256.Sum256(fmt.Append(nil, values...))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
