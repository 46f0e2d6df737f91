package destination

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/pack"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/internal/webclient"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// errNoManifest means that the dump links to no manifest for a package, and that the
// package is not received for the manifest inside it.
var errNoManifest = errors.New("the dump has no link to the manifest of the package")

// readManifest calls f with the open manifest of a package, and the URI that it was read
// from: the copy that the dump links to or else, if receive is true, the package, which is
// received and stays open. d is NotModified if it has not changed since the document of
// known.
func (r *run) readManifest(ctx context.Context, p *state.Package, e packageEntry, receive bool, known func(uri string) (state.Document, error), f func(uri string, d *tree.Document) error) error {
	if e.manifest != "" {
		before, err := known(e.manifest)
		if err != nil {
			return err
		}
		var sum maphash.Hash
		sum.SetSeed(manifestSeed)
		d, err := r.reader.OpenTo(ctx, e.manifest, before.Validators, &sum)
		if err == nil {
			defer d.Close()
			if err = f(e.manifest, d); err == nil && !d.NotModified {
				r.packages.copied[p.ID] = sum.Sum64()
			}
			return err
		}
		if !receive || ctx.Err() != nil {
			return &listError{err}
		}
	}
	if !receive {
		return errNoManifest
	}
	before, err := known(e.uri)
	if err != nil {
		return err
	}
	o, err := r.packages.receive(ctx, *p, before.Validators)
	if _, disk := errors.AsType[*fs.PathError](err); disk {
		return err
	}
	if err != nil {
		return &listError{err}
	}
	if o.content.NotModified {
		return f(e.uri, &tree.Document{Document: &fetch.Document{NotModified: true, Validators: before.Validators}})
	}
	text, err := o.zip.Open(pack.Manifest)
	if err != nil {
		return &listError{fmt.Errorf("the manifest of %s: %w", e.uri, err)}
	}
	defer text.Close()
	d, err := r.reader.Decode(e.uri, webclient.Limit(text, maxManifest, fetch.ErrLong))
	if err != nil {
		return &listError{err}
	}
	d.Validators = o.content.Validators
	d.Header.Set("Date", o.content.Date.UTC().Format(http.TimeFormat)) // by the clock of the server, as for each document
	return f(e.uri, d)
}

func unconditional(string) (state.Document, error) { return state.Document{}, nil }

// attach finds the packages that have the content of the pending changes of a set: in its
// Resource Dump after a baseline, otherwise in its Change Dump after since. Its failures are
// reported, because the resources can be requested one by one.
func (r *run) attach(ctx context.Context, set tree.Set, capability resourcesync.Capability, since time.Time) error {
	if !r.offers(set.Lists[capability]) || r.options.Rebuild {
		return nil // to rebuild the state, most contents are not needed
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
	failed, err := reader.read(ctx, set.Lists[capability])
	if failed != nil {
		r.report.unused(r.log, set.Lists[capability][0], failed)
	}
	return err
}

// A localError is an error of the state, the Sink or the disk, as opposed to one of a
// dump.
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
		at := latest(d.Head.Metadata.At, d.Head.Metadata.Until)
		if at.IsZero() {
			at = latest(e.at, e.until)
		}
		p.At = at
		_, err := r.noteAll(ctx, d, func(entry *rsxml.Entry) error {
			if entry.Metadata.Path == "" || entry.Metadata.Change == resourcesync.Deleted {
				return nil
			}
			p.Entries++
			ok, err := r.state.Attach(&state.Pending{
				Package: p.ID, Member: entry.Metadata.Path, At: at,
				Change: resourcesync.Change{Datetime: entry.Metadata.Datetime, Resource: resource(entry)},
			})
			if ok {
				attached++
			}
			return err
		}, func([]rsxml.Entry) error { return r.state.SavePackage(p) })
		return err
	})
	if err == nil && received && attached > 0 {
		if err := r.applyPackage(ctx, p.ID); err != nil {
			return &localError{err}
		}
	}
	return err
}
