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
func (w *walker) dump(ctx context.Context, d *document, children []child, st *set) error {
	chosen := newSample[child](maxPackages)
	if w.options.All {
		chosen.max = len(children)
	} else if w.options.Sample < 0 {
		chosen.max = 0
	}
	for _, ch := range children {
		chosen.add(ch.uri, ch)
	}
	each := st.manifest(d, len(children))
	read := make(map[string]bool)
	for _, ch := range chosen.all() {
		read[ch.uri] = true
		if err := w.pack(ctx, d.capability, ch, each); err != nil {
			return err
		}
	}
	if each == nil {
		return nil
	}
	for _, ch := range children {
		copied := contentsOf(&ch)
		if read[ch.uri] || copied == "" {
			continue
		}
		if _, err := w.copyOf(ctx, copied, resourcesync.ResourceDumpManifest, each); err != nil {
			return err
		}
	}
	return nil
}

// manifest returns the function that receives the entries of the manifests of a Resource Dump, or
// nil for other dumps and for a set without a Resource List.
func (st *set) manifest(d *document, packages int) func(*document, *rsxml.Entry) {
	if st == nil || d.capability != resourcesync.ResourceDump || st.listed == 0 {
		return nil
	}
	st.dump.since(d.head.Metadata.At)
	st.dump.packages += packages
	return st.packed
}

// contentsOf returns the URL of the copy of the manifest that the entry of a package links to, or "".
func contentsOf(ch *child) string {
	for _, l := range ch.entry.Links {
		if l.Rel == resourcesync.RelContents {
			return l.Href
		}
	}
	return ""
}

// pack requests a package and checks it.
func (w *walker) pack(ctx context.Context, dump resourcesync.Capability, ch child, each func(*document, *rsxml.Entry)) error {
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
	return w.zip(ctx, ch.uri, r.(io.ReaderAt), got.Size, dump, contentsOf(&ch), each)
}

// copyOf reads the copy of a manifest at uri. It returns nil if it cannot be requested. An error means
// that ctx has ended.
func (c *checker) copyOf(ctx context.Context, uri string, capability resourcesync.Capability, each func(*document, *rsxml.Entry)) (*document, error) {
	c.at(uri)
	res, err := c.client.Document(ctx, uri, fetch.Validators{})
	if err != nil {
		return nil, c.failed(ctx, uri, place{document: uri}, err, "unreachable", "")
	}
	defer res.Close()
	base, err := url.Parse(res.URL)
	if err != nil {
		return nil, nil
	}
	d, err := c.read(uri, base, res, expectation{capability: capability}, time.Now(), func(d *document, e *rsxml.Entry, _ place) {
		if each != nil {
			each(d, e)
		}
	})
	if err != nil {
		return nil, c.failed(ctx, uri, place{document: uri}, err, "unreachable", "")
	}
	c.documents.Add(1)
	if each != nil && d.complete {
		each(d, nil)
	}
	return d, nil
}

// contents compares the manifest of a package with the copy that its entry links to.
func (c *checker) contents(ctx context.Context, uri string, inside *document) error {
	outside, err := c.copyOf(ctx, uri, inside.capability, nil)
	if outside == nil || err != nil {
		return err
	}
	if outside.complete && outside.ordered != inside.ordered {
		c.add("contents-differ", place{document: uri}, section(dumpOf(inside.capability), false), "its entries differ from the entries of %s", inside.name)
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
