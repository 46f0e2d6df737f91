package rshttp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/admission"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// attempts is how often a package is laid out when the set changes meanwhile.
const attempts = 3

// A layout is a package ready to be sent: everything but its content. What the
// document in it says of state and validators is that of the package; its text is
// the manifest. It does not change, but for that freshness.
type layout struct {
	*document
	zip   *virtualzip.Archive
	items []item

	room  *room // the memory that it takes, reserved
	users int   // transfers that hold it, under the lock of layouts
	kept  bool  // under the same lock
}

// cost returns the memory that l takes, in bytes.
func (l *layout) cost() int64 { return l.document.cost() + l.zip.Cost() + costOf(l.items) }

// layout returns the package t for the current set. The caller releases it.
func (s *Source) layout(ctx context.Context, t target, unlisted bool) (*layout, error) {
	if l, err := s.freshLayout(ctx, t); err != nil || l != nil {
		if l != nil {
			s.counters.hits.Add(1)
		}
		return l, err
	}
	var room *room
	v, err := s.flightsFor(unlisted).Do(ctx, t.path, admission.Job{
		Begin: func(ctx context.Context) (err error) {
			room, err = s.layouts.reserve(ctx, unlisted, s.firstRoom(unlisted), s.options.Wait)
			if err != nil {
				return err
			}
			if err := s.layingOut.AcquireWithin(ctx, s.options.Wait, unlisted); err != nil {
				room.free()
				return err
			}
			return nil
		},
		Work: func(ctx context.Context) (_ any, err error) {
			var l *layout
			defer func() {
				s.layingOut.Release(unlisted)
				if l == nil || l.room != room {
					room.free()
				}
			}()
			l, err = s.layOutIn(ctx, t, room)
			return l, err
		},
		Share: func(v any, n int) { s.layouts.hold(v.(*layout), n-1) },
	})
	if err != nil {
		return nil, err
	}
	return v.(*layout), nil
}

// firstRoom returns the bytes reserved for a layout before its size is known: those
// of an ordinary full package, or part of the budget.
func (s *Source) firstRoom(unlisted bool) int64 {
	const perResource = 2 << 10 // while it is being made
	budget := s.layouts.listed
	if unlisted {
		budget = s.layouts.unlisted
	}
	return min(int64(s.packageEvery())*perResource, budget.limit/4)
}

// layOutIn returns the layout kept for t, or lays t out in room and keeps that. The
// result has one user.
func (s *Source) layOutIn(ctx context.Context, t target, room *room) (*layout, error) {
	if l, err := s.freshLayout(ctx, t); err != nil || l != nil {
		return l, err
	}
	l, unlisted, err := s.layOut(ctx, t, room)
	if err != nil {
		return nil, err
	}
	s.counters.laidOut.Add(1)
	l.room, l.users = room, 1
	if !unlisted {
		s.layouts.keep(l)
	}
	return l, nil
}

// freshLayout returns the layout kept for t, or nil if it no longer holds. The caller
// releases it.
func (s *Source) freshLayout(ctx context.Context, t target) (*layout, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.RenderTimeout)
	defer cancel()
	l := s.layouts.get(t.path)
	var d *document
	if l != nil {
		d = l.document
	}
	fresh, err := s.fresh(ctx, t, d)
	if l != nil && !fresh {
		s.layouts.release(l)
		l = nil
	}
	return l, err
}

// layOut lays out t. If content turns out not to be what was listed, the set may
// have changed since, and is listed again.
func (s *Source) layOut(ctx context.Context, t target, room *room) (l *layout, unlisted bool, err error) {
	known := make(checksums)
	if kept := s.layouts.get(t.path); kept != nil {
		known.learnSent(kept)
		defer s.layouts.release(kept)
	}
	for attempt := 1; ; attempt++ {
		inv, err := s.takeInventory(ctx, t)
		if err != nil {
			return nil, false, err
		}
		if err := s.makeRoom(ctx, t, inv, room); err != nil {
			return nil, false, err
		}
		err = s.check(ctx, t, inv, known)
		var l *layout
		if err == nil {
			l, err = s.seal(t, inv)
		}
		if err == nil {
			err = room.resize(ctx, l.cost(), 0)
		}
		if _, ok := errors.AsType[*unlikeError](err); !ok || attempt == attempts {
			return l, inv.unlisted, err
		}
		known.learn(inv.items)
	}
}

// makeRoom makes room for the layout of inv, and as much again for making it. An
// unlisted package has a turn already and does not wait. A package that could never
// get the room is not offered.
func (s *Source) makeRoom(ctx context.Context, t target, inv *inventory, room *room) error {
	n, wait := 2*inv.cost(), s.options.Wait
	if room.of == s.layouts.unlisted {
		wait = 0
		if n > room.of.limit {
			return s.outgrown(t)
		}
	}
	return room.resize(ctx, n, wait)
}

func (s *Source) takeInventory(ctx context.Context, t target) (*inventory, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.RenderTimeout)
	defer cancel()
	return s.manifest(ctx, t.manifest())
}

// seal makes the layout of an inventory whose items are checked.
func (s *Source) seal(t target, inv *inventory) (*layout, error) {
	doc := inv.doc
	manifest := virtualzip.Entry{Size: int64(doc.Size), CRC32: doc.CRC, Open: doc.Open}
	l := &layout{document: doc, items: inv.items}
	var err error
	l.zip, err = inv.archive(manifest, func(ctx context.Context, it *item) (io.ReadCloser, error) {
		return s.open(ctx, t, it)
	}, func(ctx context.Context, i int) (uint32, error) { return s.sum(ctx, l, i) })
	if err != nil {
		return nil, err
	}
	for i := range l.items {
		if it := &l.items[i]; it.sumState == learned {
			if err := l.learn(i, it.crc); err != nil {
				return nil, err
			}
		}
	}
	// The manifest counts for the entity tag by its own, because of the
	// digests in it.
	sum := sha256.Sum256([]byte(l.zip.Version() + doc.hdrETag[0]))
	doc.target = t
	doc.hdrETag = []string{`"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`}
	return l, nil
}

// sum returns the checksum of the i-th item, if it is known.
func (l *layout) sum(i int) (uint32, bool) { return l.zip.Sum(i + 1) } // behind the manifest

func (l *layout) learn(i int, crc uint32) error { return l.zip.Learn(i+1, crc) }

// item returns the item that has a name in l, or nil.
func (l *layout) item(name string) *item {
	for i := range l.items {
		if l.items[i].name() == name {
			return &l.items[i]
		}
	}
	return nil
}

// open opens an item of t. A resource may have got another Stamp since it was
// listed without having changed in any other way.
func (s *Source) open(ctx context.Context, t target, it *item) (io.ReadCloser, error) {
	switch {
	case it.patch != nil:
		return t.set.patchOpener.OpenPatch(ctx, it.patch.of, it.patch.link)
	case t.kind == kindChangePackage:
		return t.set.changeOpener.OpenChange(ctx, it.Change)
	}
	r := it.Resource
	content, err := t.set.opener.Open(ctx, r)
	if !errors.Is(err, fs.ErrNotExist) {
		return content, err
	}
	for now, failed := range t.set.provider.Resources(ctx, resourcesync.Range{From: r.Key, To: r.Key + "\x00"}) {
		if failed == nil && now.Stamp != r.Stamp && isSame(now, r) {
			return t.set.opener.Open(ctx, now)
		}
	}
	return nil, err
}

// isSame reports whether a and b have the same bytes, as far as they say.
func isSame(a, b resourcesync.Resource) bool {
	a.Links, a.Attrs = b.Links, b.Attrs
	return a.EqualEntry(b)
}
