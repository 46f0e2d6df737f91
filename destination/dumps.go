package destination

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/pack"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/internal/webclient"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Dumps supply content. What the Source has is decided by its Resource Lists and Change Lists,
// and by the manifests of dumps only if it has no lists. So an old or broken dump costs time,
// and never leaves an old state.

const (
	// minPackaged is the number of resources to copy from which manifests are read.
	minPackaged = 32

	// maxManifest is the maximum size of a manifest in a package, in bytes.
	maxManifest = 1 << 30
)

// A packageEntry is the entry of a package in a dump.
type packageEntry struct {
	uri      string
	manifest string // the URI of a copy of its manifest, or ""
	length   resourcesync.Length

	from, until time.Time // of the changes
}

// A dumpReader reads the dumps of a set.
type dumpReader struct {
	*run
	since time.Time // packages that end then or before are left out
	seen  map[string]bool

	// begin receives the heads of the dumps that are not parts of an index, and each
	// receives the packages. If begin returns false, each does not.
	begin func(d *tree.Document, from time.Time) bool
	each  func(packageEntry) error
}

// read reads dumps, which can be indexes.
func (r *dumpReader) read(ctx context.Context, dumps []string) error {
	r.seen = make(map[string]bool)
	for _, uri := range dumps {
		if err := r.walk(ctx, uri, 0); err != nil {
			return err
		}
	}
	return nil
}

func (r *dumpReader) walk(ctx context.Context, uri string, depth int) error {
	if r.seen[uri] {
		return nil
	}
	r.seen[uri] = true
	var d *tree.Document
	var entries []packageEntry
	err := r.attempt(ctx, uri, func() (err error) {
		d, entries, err = r.readDump(ctx, uri)
		return err
	})
	if err != nil {
		return err
	}
	if d.Head.Index && depth == maxIndexes {
		return fmt.Errorf("%s: there are more than %d levels of indexes", uri, maxIndexes)
	}
	if depth == 0 && r.begin != nil {
		from := d.Head.Metadata.From
		if from.IsZero() && len(entries) > 0 {
			from = entries[0].from
		}
		if !r.begin(d, from) {
			return nil
		}
	}
	for _, e := range entries {
		switch {
		case !e.until.IsZero() && !e.until.After(r.since):
		case d.Head.Index:
			err = r.walk(ctx, e.uri, depth+1)
		case !r.seen[e.uri]:
			r.seen[e.uri] = true
			err = r.each(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readDump returns a dump or an index of dumps, and its entries, sorted by time if they have
// times.
func (r *run) readDump(ctx context.Context, uri string) (d *tree.Document, entries []packageEntry, err error) {
	d, err = r.reader.Open(ctx, uri, fetch.Validators{})
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	parts, err := readParts(uri, d)
	for _, e := range parts {
		manifest, _ := d.Target(&e, resourcesync.RelContents)
		entries = append(entries, packageEntry{e.Loc, manifest, e.Metadata.Length, e.Metadata.From, e.Metadata.Until})
	}
	return d, entries, err
}

// errNoManifest means that a package has no manifest of its own URI, and is not received to
// read the one that it has.
var errNoManifest = errors.New("the dump has no link to the manifest of the package")

// readManifest calls f with the open manifest of a package, and the URI that stands for both.
// It is a copy if there is one. Otherwise, if receive is true, the package is received and
// stays open. d is not modified if it is as known says.
func (r *run) readManifest(ctx context.Context, p *state.Package, e packageEntry, receive bool, known func(uri string) (fetch.Validators, error), f func(uri string, d *tree.Document) error) error {
	if e.manifest != "" {
		validators, err := known(e.manifest)
		if err != nil {
			return err
		}
		d, err := r.reader.Open(ctx, e.manifest, validators)
		if err == nil {
			defer d.Close()
			return f(e.manifest, d)
		}
		if !receive || ctx.Err() != nil {
			return err
		}
	}
	if !receive {
		return errNoManifest
	}
	validators, err := known(e.uri)
	if err != nil {
		return err
	}
	o, err := r.packages.receive(ctx, *p, validators)
	if err != nil {
		return err
	}
	if o.content.NotModified {
		return f(e.uri, &tree.Document{Document: &fetch.Document{NotModified: true, Validators: validators}})
	}
	text, err := o.zip.Open(pack.Manifest)
	if err != nil {
		return fmt.Errorf("the manifest of %s: %w", e.uri, err)
	}
	defer text.Close()
	d, err := r.reader.Decode(e.uri, webclient.Limit(text, maxManifest, fetch.ErrLong))
	if err != nil {
		return err
	}
	d.Validators = o.content.Validators
	return f(e.uri, d)
}

func unconditional(string) (fetch.Validators, error) { return fetch.Validators{}, nil }

// attach finds the packages that have the content of the pending changes of a set: in its
// Resource Dump after a baseline, otherwise in its Change Dump after since. Its failures are
// reported, because the resources can be requested one by one.
func (r *run) attach(ctx context.Context, set tree.Set, capability resourcesync.Capability, since time.Time) error {
	if !r.offers(set.Lists[capability]) {
		return nil
	}
	n, err := r.state.Unpackaged(set.URI)
	if err != nil || n == 0 || n < minPackaged && r.options.Dumps == DumpsAuto {
		return err
	}
	have, _, err := r.state.Totals()
	if err != nil {
		return err
	}
	// Packages without copies of their manifests are received for all or most of a set.
	receive := r.options.Dumps == DumpsAlways || capability == resourcesync.ResourceDump && n > have
	reader := &dumpReader{run: r, since: since, each: func(e packageEntry) error {
		err := r.attachPackage(ctx, e, capability, receive)
		if isLocal(err) || ctx.Err() != nil {
			return err
		}
		if err != nil && !errors.Is(err, errNoManifest) {
			r.report.unused(r.log, e.uri, err)
		}
		return nil
	}}
	err = reader.read(ctx, set.Lists[capability])
	if err == nil || isLocal(err) || ctx.Err() != nil {
		return err
	}
	r.report.unused(r.log, set.Lists[capability][0], err)
	return nil
}

// A localError is one of the state, the Sink or the disk: not one of a dump.
type localError struct{ error }

func (e *localError) Unwrap() error { return e.error }

func isLocal(err error) bool {
	_, ok := errors.AsType[*localError](err)
	return ok
}

func (r *run) attachPackage(ctx context.Context, e packageEntry, capability resourcesync.Capability, receive bool) error {
	p := &state.Package{URI: e.uri, Length: e.length, Baseline: capability == resourcesync.ResourceDump}
	if err := r.state.SavePackage(p); err != nil {
		return &localError{err}
	}
	attached, received := 0, false
	err := r.readManifest(ctx, p, e, receive, unconditional, func(uri string, d *tree.Document) error {
		received = uri == e.uri
		return r.noteAll(ctx, d, func(entry *rsxml.Entry) error {
			if entry.Metadata.Path == "" || entry.Metadata.Change == resourcesync.Deleted {
				return nil
			}
			p.Entries++
			ok, err := r.state.Attach(&state.Pending{
				Package: p.ID, Member: entry.Metadata.Path,
				Change: resourcesync.Change{Datetime: entry.Metadata.Datetime, Resource: resource(entry)},
			})
			if ok {
				attached++
			}
			return err
		}, func() error { return r.state.SavePackage(p) })
	})
	if err == nil && received && attached > 0 {
		if err := r.applyPackage(ctx, p.ID); err != nil {
			return &localError{err}
		}
	}
	return err
}

// dump notes the resources of a package as if its manifest were a Resource List.
func (b *baseline) dump(ctx context.Context, e packageEntry) error {
	p := &state.Package{URI: e.uri, Length: e.length, Baseline: true}
	return b.notePackage(ctx, p, e, b.state.Document, func(uri string, d *tree.Document) error {
		return b.note(ctx, uri, d, p)
	})
}

// dump notes the changes of a package.
func (c *changeReader) dump(ctx context.Context, e packageEntry) error {
	p := &state.Package{URI: e.uri, Length: e.length}
	known := c.state.Document
	if !c.st.Known {
		known = unconditional
	}
	err := c.notePackage(ctx, p, e, known, func(uri string, d *tree.Document) error {
		if d.NotModified {
			return nil
		}
		return c.note(ctx, uri, d, p)
	})
	if err == nil {
		c.newest = latest(c.newest, e.until)
	}
	return err
}

// notePackage calls note with the manifest of a package. If the package has been received for
// that, its changes are applied, so that only one package is on disk.
func (r *run) notePackage(ctx context.Context, p *state.Package, e packageEntry, known func(string) (fetch.Validators, error), note func(string, *tree.Document) error) error {
	if err := r.state.SavePackage(p); err != nil {
		return err
	}
	received := false
	err := r.readManifest(ctx, p, e, true, known, func(uri string, d *tree.Document) error {
		received = uri == e.uri && !d.NotModified
		return note(uri, d)
	})
	if err == nil {
		err = r.state.SavePackage(p)
	}
	switch {
	case err != nil || !received:
		return err
	case p.Baseline:
		return r.applyPackage(ctx, p.ID)
	}
	_, err = r.apply(ctx, 0) // in the order of the changes, with the deletions
	return err
}
