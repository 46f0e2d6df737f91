package rshttp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/patch"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// changeParts divides a window of st's journal into packages, each as full as
// PackageSize and the limits of its manifest allow. Of a closed window that is the
// same for ever; those of an open one are kept as changes come to its end.
func (s *Source) changeParts(ctx context.Context, st *set, w resourcesync.Interval) ([]changePackage, error) {
	d := &st.changeDump
	d.mu.Lock()
	parts, ok := d.parts[w]
	d.mu.Unlock()
	if ok {
		return parts, nil
	}
	head := rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ChangeDumpManifest}}
	var (
		e       rsxml.Entry
		patches patch.Filter
		scratch []byte
		last    time.Time
		size    int
		part    = changePackage{w, !w.Open()}
	)
	for c, err := range st.changer.Changes(ctx, w) {
		if err != nil {
			return nil, providerError("journal", err)
		}
		e.SetChange(&c)
		patches.Apply(&e)
		scratch = rsxml.AppendEntry(scratch[:0], &head, &e)
		weight := len(scratch)
		if c.Type != resourcesync.Deleted {
			weight += s.bitstreamWeight(c.Resource.Length)
			for _, l := range e.Links {
				if patch.Is(l) && st.patchOpener != nil {
					weight += s.bitstreamWeight(l.Length)
				}
			}
		}
		if size > 0 && size+weight > paging.MaxBytes && c.Datetime.After(last) {
			part.Until = c.Datetime
			parts = append(parts, part)
			part = changePackage{resourcesync.Interval{From: c.Datetime, Until: w.Until}, part.closed}
			size = 0
		}
		size += weight
		last = c.Datetime
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	parts = append(parts, part)
	if !w.Open() {
		d.mu.Lock()
		defer d.mu.Unlock()
		remember(&d.parts, w, map[resourcesync.Interval][]changePackage{w: parts})
	}
	return parts, nil
}

// changePackageLength returns the length of a package, as far as those of what is
// in it are known.
func (s *Source) changePackageLength(ctx context.Context, st *set, p changePackage) (resourcesync.Length, error) {
	d := &st.changeDump
	d.mu.Lock()
	length, ok := d.lengths[p.Interval]
	d.mu.Unlock()
	if ok {
		return length, nil
	}
	b := body{weighed: true}
	defer b.free()
	inv, err := s.changes(ctx, target{kind: kindChangeManifest, set: st}, p, &b)
	if err != nil {
		return resourcesync.Length{}, err
	}
	length, err = inv.packageLength()
	if err == nil && p.closed {
		d.mu.Lock()
		defer d.mu.Unlock()
		remember(&d.lengths, p.Interval, map[resourcesync.Interval]resourcesync.Length{p.Interval: length})
	}
	return length, err
}

// name returns how a package is named in URLs: by its interval. A name that has an
// end never comes to be that of something else.
func (p changePackage) name() string {
	name := p.From.UTC().Format(windowLayout)
	if !p.Open() {
		name += "-" + p.Until.UTC().Format(windowLayout)
	}
	return name
}

// changeManifest takes the inventory of the package of changes whose manifest is
// t.
func (s *Source) changeManifest(ctx context.Context, t target) (*inventory, error) {
	begin, _, _ := strings.Cut(t.part, "-")
	from, err := time.Parse(windowLayout, begin)
	if err != nil || from.After(time.Now()) {
		return nil, notExist("an interval of the past", t)
	}
	windows, err := s.dumpedWindows(ctx, t.set)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(windows, func(w resourcesync.Interval) bool { return w.Contains(from) })
	if i >= 0 {
		parts, err := s.changeParts(ctx, t.set, windows[i])
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			if p.name() != t.part {
				continue
			}
			if inv, err := s.changesManifest(ctx, t, p); !errors.Is(err, errMoved) {
				return inv, err
			}
		}
	}
	return nil, s.dumpMoved(t)
}

// changesManifest is changes with the manifest sealed.
func (s *Source) changesManifest(ctx context.Context, t target, p changePackage) (*inventory, error) {
	var b body
	defer b.free()
	inv, err := s.changes(ctx, t, p, &b)
	if err == nil {
		inv.doc, err = b.seal(inv.doc)
	}
	return inv, err
}

// changes takes the inventory of a package of changes; t is its manifest, whose
// text goes into b and is not sealed.
func (s *Source) changes(ctx context.Context, t target, p changePackage, b *body) (*inventory, error) {
	inv := &inventory{sized: true, patches: t.set.patchOpener != nil}
	var err error
	if inv.doc, err = s.changeDocument(ctx, t); err != nil {
		return nil, err
	}
	inv.at, err = s.listChanges(ctx, t, p.Interval, b, inv.addChange)
	if err != nil {
		return nil, err
	}
	inv.text = b.length()
	if p.closed {
		inv.doc.forever, inv.doc.from, inv.doc.lastModified = true, p.From, inv.at
	}
	return inv, nil
}
