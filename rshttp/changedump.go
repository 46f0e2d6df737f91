package rshttp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/render"
)

// changeDumpState reads the state of a document that lists packages of changes: the list of
// packages, none of which ever changes.
func changeDumpState(ctx context.Context, t target, was *state) (*state, error) {
	if closed, err := was.stillClosed(ctx); err != nil || closed {
		return was, err
	}
	dump, err := t.set.changePackages.Dump(ctx)
	if err != nil {
		return nil, err
	}
	covers := dump.Covers()
	if was != nil && !was.closed && was.changes == covers {
		return was, nil
	}
	return &state{version: packages.Name(covers), changes: covers, dump: dump}, nil
}

func isChangePackage(t target) bool { return t.set.changePackages.Current().Lists(t.part) }

// renderChangeDump renders changedump.xml: the Change Dump if one is enough, otherwise the
// index (section 13.1). It lists only closed packages, but is itself open.
func renderChangeDump(ctx context.Context, t target, st *state, b *render.Body) error {
	if parts := t.set.dumpParts(st.dump); len(parts) > 1 {
		return renderChangeIndex(t, b, parts)
	}
	return listChangePackages(ctx, t, b, resourcesync.Interval{From: st.dump.Since}, st.dump.Packages)
}

func (st *set) dumpParts(dump *packages.ChangeDump) []resourcesync.Interval {
	return dump.Parts(st.Division.Window, st.Division.PageSize)
}

func renderChangeDumpPart(ctx context.Context, t target, st *state, b *render.Body) error {
	part, err := t.window(t.set.dumpParts(st.dump))
	if err == nil {
		if !part.Open() {
			st.close(versionJournal{journal{t.set}}, part, time.Time{})
		}
		err = listChangePackages(ctx, t, b, part, st.dump.In(part))
	}
	if errors.Is(err, errMoved) {
		return t.dumpMoved()
	}
	return err
}

// dumpMoved returns the error for a document of a Change Dump that no longer exists.
func (t target) dumpMoved() error {
	return &goneError{index: t.url(kindChangeDump, ""), reason: "the division of the journal has changed, or it no longer has these changes"}
}

// listChangePackages writes a Change Dump of the packages of iv into b.
func listChangePackages(ctx context.Context, t target, b *render.Body, iv resourcesync.Interval, listed []resourcesync.Interval) error {
	b.Head = changeHead(t, false, iv)
	for _, p := range listed {
		length, err := t.set.changePackageLength(ctx, p)
		if err != nil {
			return err
		}
		e := t.set.packageEntry(kindChangePackage, packages.Name(p))
		e.Metadata.From, e.Metadata.Until, e.Metadata.Length = p.From, p.Until, length
		if !b.Add(e) {
			return fmt.Errorf("the Change Dump of set %q has outgrown the limits of a document: raise PackageSize", t.set.Name)
		}
	}
	return nil
}

// changePackageLength returns the length of a package. It is unknown if the length of a
// bitstream is.
func (st *set) changePackageLength(ctx context.Context, p resourcesync.Interval) (resourcesync.Length, error) {
	return st.changePackages.Length(p, func() (resourcesync.Length, error) {
		b := render.Body{SizeOnly: true}
		defer b.Free()
		c, err := listChangesOf(ctx, target{kind: st.routes.kinds[kindChangeManifest], set: st}, p, &b)
		if err != nil {
			return resourcesync.Length{}, err
		}
		return c.Length()
	})
}

func newChangePackages(st *set) *packages.Journal {
	return &packages.Journal{
		Set:     st.Name,
		Changer: st.Changer,
		Stater:  st.changeStater,
		Since: func(ctx context.Context) (time.Time, error) {
			since, _, err := versionJournal{journal{st}}.stat(ctx)
			return since, err
		},
		Patches:    st.patchOpener != nil,
		Size:       st.packageSize(),
		MaxEntries: st.Division.PageSize,
		Every:      st.Division.PackageEvery,
		Settle:     max(st.Division.Settle, 0),
	}
}
