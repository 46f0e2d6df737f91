package check

import (
	"context"
	"errors"
	"io"
	"net/url"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// maxPackages is the number of packages of a dump that are read, unless all are.
const maxPackages = 2

// dump checks packages of a dump, all or some at random.
func (w *walker) dump(ctx context.Context, d *document, children []child) error {
	chosen := newSample[child](maxPackages)
	if w.options.All {
		chosen.max = len(children)
	} else if w.options.Sample < 0 {
		chosen.max = 0
	}
	for _, ch := range children {
		chosen.add(ch.uri, ch)
	}
	for _, ch := range chosen.all() {
		if err := w.pack(ctx, d.capability, ch); err != nil {
			return err
		}
	}
	return nil
}

// pack requests a package and checks it.
func (w *walker) pack(ctx context.Context, dump resourcesync.Capability, ch child) error {
	w.at(ch.uri)
	want := contentOf(&ch.entry, ch.at)
	got, err := w.client.Download(ctx, fetch.Folder{Name: w.folder}, w.want(&want))
	wrong, mismatch := errors.AsType[*fetch.MismatchError](err)
	if mismatch && w.changed(ctx, &want) || w.gone(ctx, err, &want) {
		return ctx.Err() // the dump has changed meanwhile
	}
	if mismatch {
		w.packages.Add(1)
		w.add("package-changed", ch.at, "", "the %s of %s is %s, but the entry says %s", wrong.What, ch.uri, wrong.Got, wrong.Want)
		return nil
	}
	if errors.Is(err, fetch.ErrLarge) {
		w.skip("%s was not read: it has more than %d bytes", ch.uri, w.options.MaxContent)
		return nil
	}
	if err != nil {
		return w.failed(ctx, ch.uri, ch.at, err, "package-unreachable", section(dump, false))
	}
	defer got.Close()
	r, err := got.Reader()
	if err != nil {
		return err
	}
	contents := ""
	for _, l := range ch.entry.Links {
		if l.Rel == resourcesync.RelContents {
			contents = l.Href
		}
	}
	return w.zip(ctx, ch.uri, r.(io.ReaderAt), got.Size, dump, contents)
}

// contents compares the manifest of a package with the copy that its entry links to.
func (c *checker) contents(ctx context.Context, uri string, inside *document) error {
	c.at(uri)
	res, err := c.client.Document(ctx, uri, fetch.Validators{})
	if err != nil {
		return c.failed(ctx, uri, place{document: inside.name}, err, "unreachable", "")
	}
	defer res.Close()
	base, err := url.Parse(res.URL)
	if err != nil {
		return err
	}
	outside, err := c.read(uri, base, res, expectation{capability: inside.capability}, time.Now(), nil)
	if err != nil {
		return c.failed(ctx, uri, place{document: uri}, err, "unreachable", "")
	}
	c.documents.Add(1)
	if outside.complete && outside.ordered != inside.ordered {
		c.add("contents-differ", place{document: uri}, section(dumpOf(inside.capability), false), "its entries are not those of %s", inside.name)
	}
	return nil
}

// manifestOf returns the capability of the manifests of a dump.
func manifestOf(dump resourcesync.Capability) resourcesync.Capability {
	switch dump {
	case resourcesync.ResourceDump:
		return resourcesync.ResourceDumpManifest
	case resourcesync.ChangeDump:
		return resourcesync.ChangeDumpManifest
	}
	return ""
}

// dumpOf returns the kind of dump that has manifests with a capability.
func dumpOf(manifest resourcesync.Capability) resourcesync.Capability {
	if manifest == resourcesync.ChangeDumpManifest {
		return resourcesync.ChangeDump
	}
	return resourcesync.ResourceDump
}

// A member is a file that the manifest of a package lists.
type member struct {
	name string
	want content
	at   place
}

func memberOf(e *rsxml.Entry, name string, at place) member {
	return member{name, contentOf(e, at), at}
}
