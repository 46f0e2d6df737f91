package document

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
func changeDumpState(ctx context.Context, t Target, was *State) (*State, error) {
	if closed, err := was.stillClosed(ctx); err != nil || closed {
		return was, err
	}
	dump, err := t.Set.ChangePackages.Dump(ctx)
	if err != nil {
		return nil, err
	}
	covers := dump.Covers()
	if was != nil && !was.closed && was.changes == covers {
		return was, nil
	}
	return &State{Version: packages.Name(covers), changes: covers, Dump: dump}, nil
}

func isChangePackage(t Target) bool { return t.Set.ChangePackages.Current().Lists(t.Part) }

// renderChangeDump renders changedump.xml: the Change Dump if one is enough, otherwise the
// index (section 13.1). It lists only closed packages, but is itself open.
func renderChangeDump(ctx context.Context, t Target, st *State, b *render.Body) error {
	if parts := t.Set.DumpParts(st.Dump); len(parts) > 1 {
		return renderChangeIndex(t, b, parts)
	}
	return listChangePackages(ctx, t, b, resourcesync.Interval{From: st.Dump.Since}, st.Dump.Packages)
}

func (st *Set) DumpParts(dump *packages.ChangeDump) []resourcesync.Interval {
	return dump.Parts(st.Division.Window, st.Division.PageSize)
}

func renderChangeDumpPart(ctx context.Context, t Target, st *State, b *render.Body) error {
	part, err := t.window(t.Set.DumpParts(st.Dump))
	if err == nil {
		if !part.Open() {
			st.close(versionJournal{Journal{t.Set}}, part, time.Time{})
		}
		err = listChangePackages(ctx, t, b, part, st.Dump.In(part))
	}
	if errors.Is(err, ErrMoved) {
		return t.dumpMoved()
	}
	return err
}

// dumpMoved returns the error for a document of a Change Dump that no longer exists.
func (t Target) dumpMoved() error {
	return &Gone{Index: t.URL(KindChangeDump, ""), Reason: "the division of the journal has changed, or it no longer has these changes"}
}

// listChangePackages writes a Change Dump of the packages of iv into b.
func listChangePackages(ctx context.Context, t Target, b *render.Body, iv resourcesync.Interval, listed []resourcesync.Interval) error {
	b.Head = changeHead(t, false, iv)
	for _, p := range render.Listed(b, listed, true) {
		length, err := t.Set.changePackageLength(ctx, p)
		if err != nil {
			return err
		}
		e := t.Set.packageEntry(KindChangePackage, packages.Name(p))
		e.Metadata.From, e.Metadata.Until, e.Metadata.Length = p.From, p.Until, length
		if !b.Add(e) {
			return b.Full(fmt.Errorf("the Change Dump of set %q has outgrown the limits of a document: raise PackageSize", t.Set.Name))
		}
	}
	return nil
}

// changePackageLength returns the length of a package. It is unknown if the length of a
// bitstream is.
func (st *Set) changePackageLength(ctx context.Context, p resourcesync.Interval) (resourcesync.Length, error) {
	return st.ChangePackages.Length(p, func() (resourcesync.Length, error) {
		b := render.Body{SizeOnly: true}
		defer b.Free()
		c, err := listChangesOf(ctx, Target{Kind: st.Routes.Kinds[KindChangeManifest], Set: st}, p, &b)
		if err != nil {
			return resourcesync.Length{}, err
		}
		return c.Length()
	})
}

func newChangePackages(st *Set) *packages.Journal {
	return &packages.Journal{
		Set:     st.Name,
		Changer: st.Changer,
		Stater:  st.ChangeStater,
		Since: func(ctx context.Context) (time.Time, error) {
			since, _, err := versionJournal{Journal{st}}.Stat(ctx)
			return since, err
		},
		Patches:    st.patchOpener != nil,
		Size:       st.packageSize(),
		MaxEntries: st.Division.PageSize,
		Every:      st.Division.PackageEvery,
		Settle:     max(st.Division.Settle, 0),
	}
}
