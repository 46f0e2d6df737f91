package destination

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Dumps supply content. The Resource Lists and Change Lists decide which resources the Source
// has; manifests of dumps do so only if there are no lists. So an old or broken dump costs
// time, and never leaves an old state.

const (
	// minPackaged is the number of resources to copy from which manifests are read.
	minPackaged = 32

	// maxManifest is the maximum size of the manifest of a package, in bytes.
	maxManifest = 1 << 30
)

// A packageEntry is the entry of a package in a dump.
type packageEntry struct {
	uri      string
	manifest string // the URI of a copy of its manifest, or ""
	length   resourcesync.Length

	from, until time.Time // of the changes
	at          time.Time // of the package, or of its dump
}

// A dumpReader reads the dumps of a set.
type dumpReader struct {
	*run
	since time.Time // packages that end before are left out
	seen  map[string]bool

	// fresh, unless it is nil, reports whether a package has never been read. Then it is not left out, if it ends
	// at most 2*MaxMargin before: a clock may have been set back.
	fresh func(packageEntry) (bool, error)

	// begin receives each document before its packages. If it returns false, reading ends.
	// each receives the packages.
	begin func(p *page) (bool, error)
	each  func(packageEntry) error
}

// errEnough ends the reading of dumps.
var errEnough = errors.New("no more dumps are needed")

// read reads dumps, which can be indexes. failed has the errors of dumps and manifests that
// cannot be read.
func (r *dumpReader) read(ctx context.Context, dumps []string) (failed, err error) {
	r.seen = make(map[string]bool)
	w := &walk{run: r.run, known: unconditional, visit: r.visit}
	w.then = func(ctx context.Context, p *page) error {
		if r.begin != nil {
			if more, err := r.begin(p); err != nil {
				return err
			} else if !more {
				return errEnough
			}
		}
		for _, e := range p.packages {
			if r.seen[e.uri] {
				continue
			}
			if old, err := r.isOld(e); err != nil {
				return err
			} else if old {
				continue
			}
			r.seen[e.uri] = true
			if err := w.fail(ctx, r.each(e)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := w.all(ctx, dumps); err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return w.failed, nil
}

// isOld reports whether a package is left out.
func (r *dumpReader) isOld(e packageEntry) (bool, error) {
	switch {
	case e.until.IsZero() || !e.until.Before(r.since):
		return false, nil
	case r.fresh == nil || e.until.Before(r.earliest()):
		return true, nil
	}
	fresh, err := r.fresh(e)
	return !fresh, err
}

// earliest returns the time before which all packages are left out.
func (r *dumpReader) earliest() time.Time {
	if r.fresh == nil {
		return r.since
	}
	return r.since.Add(-2 * state.MaxMargin)
}

// visit reads the entries of a dump or of an index of dumps, sorted by time if they have times.
func (r *dumpReader) visit(_ context.Context, p *page) ([]rsxml.Entry, error) {
	var dumps, packages parts
	for e, err := range p.Entries() {
		if err == nil && p.IsPart(&e) {
			err = dumps.add(&e)
		} else if err == nil {
			err = packages.add(&e)
		}
		if err != nil {
			return nil, &listError{err}
		}
	}
	p.from, p.packages, p.listed, p.unit = p.Head.Metadata.From, nil, nil, 24*time.Hour
	for _, entries := range [][]rsxml.Entry{dumps.sorted(), packages.sorted()} {
		for i := range entries {
			p.listed = append(p.listed, entries[i].Loc)
			for _, t := range []time.Time{entries[i].Metadata.From, entries[i].Metadata.Until} {
				p.unit = min(p.unit, state.Precision(t))
			}
		}
		if p.from.IsZero() && len(entries) > 0 {
			p.from = entries[0].Metadata.From
		}
	}
	for _, e := range packages.entries {
		manifest, _ := p.Target(&e, resourcesync.RelContents)
		at := e.Metadata.At
		if at.IsZero() {
			at = p.Head.Metadata.At
		}
		p.packages = append(p.packages, packageEntry{e.Loc, manifest, e.Metadata.Length, e.Metadata.From, e.Metadata.Until, at})
	}
	return slices.DeleteFunc(dumps.entries, func(e rsxml.Entry) bool {
		return !e.Metadata.Until.IsZero() && e.Metadata.Until.Before(r.earliest())
	}), nil
}

// dump notes the resources of a package as if its manifest were a Resource List.
func (b *baseline) dump(ctx context.Context, e packageEntry) error {
	p := &state.Package{URI: e.uri, Length: e.length, Baseline: true}
	return b.notePackage(ctx, p, e, b.known, func(uri string, d *tree.Document) error {
		_, err := b.note(ctx, &page{Document: d, uri: uri, at: notAfter(d.Head.Metadata.At, d.Header)}, p)
		return err
	})
}

// dump notes the changes of a package.
func (c *changeReader) dump(ctx context.Context, e packageEntry) error {
	p := &state.Package{URI: e.uri, Length: e.length}
	return c.notePackage(ctx, p, e, c.known, func(uri string, d *tree.Document) error {
		c.seen[uri] = true
		if d.NotModified {
			return nil
		}
		if _, err := c.note(ctx, &page{Document: d, uri: uri}, p); err != nil {
			return err
		}
		if e.until.Before(limit(d)) {
			c.newest = latest(c.newest, e.until)
		}
		return c.flush(ctx, nil) // the package may be applied next
	})
}

// notePackage calls note with the manifest of a package. If the package has been received for
// that, its changes are applied, so that only one package is on disk.
func (r *run) notePackage(ctx context.Context, p *state.Package, e packageEntry, known func(string) (state.Document, error), note func(string, *tree.Document) error) error {
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

// Dumps determines how a Destination uses Resource Dumps and Change Dumps.
type Dumps string

// The ways to use dumps. DumpsAuto receives a package if that costs less than requests for
// the resources that are needed from it. DumpsAlways receives each package that has a
// resource that is needed. DumpsNever requests each resource.
const (
	DumpsAuto   Dumps = ""
	DumpsAlways Dumps = "always"
	DumpsNever  Dumps = "never"
)

// offers reports whether a dump may be used.
func (d *Destination) offers(dumps []string) bool {
	return d.options.Dumps != DumpsNever && len(dumps) > 0
}
