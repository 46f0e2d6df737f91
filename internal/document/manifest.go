package document

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// renderManifest renders the manifest of a package, identical to the one in the package
// (sections 11.2 and 13.2).
func renderManifest(ctx context.Context, t Target, st *State, b *render.Body) error {
	_, err := listPackage(ctx, t, st, b)
	return err
}

// listPackage writes the manifest t into b, and returns the contents of its package.
func listPackage(ctx context.Context, t Target, st *State, b *render.Body) (*packages.Contents, error) {
	if t.Kind.Capability == resourcesync.ChangeDumpManifest {
		return listChangePackage(ctx, t, st, b)
	}
	listed := t.Set.Packages.Lists(st.keys)
	c, err := listResourcePackage(ctx, t, st, b)
	if errors.Is(err, errOutgrown) {
		if listed {
			t.Set.Packages.Invalidate()
		}
		return nil, t.outgrown()
	}
	if err == nil {
		c.Unlisted = !listed
	}
	return c, err
}

// listResourcePackage writes the manifest t of the package with the resources in
// st.keys into b.
func listResourcePackage(ctx context.Context, t Target, st *State, b *render.Body) (*packages.Contents, error) {
	c := packages.NewContents(false)
	err := listResources(ctx, t, st, b, rsxml.MaxEntries, func(res resourcesync.Resource) (string, error) {
		path, err := c.AddResource(res)
		if err == nil && t.Set.packageSize().Exceeded(c) {
			err = errOutgrown
		}
		return path, err
	})
	if err != nil {
		return nil, err
	}
	c.At, c.Text.Size = b.Head.Metadata.At, b.Len()
	return c, nil
}

// outgrown returns the error for a package of resources that would be too large.
func (t Target) outgrown() error {
	return &Gone{Index: t.URL(KindResourceDump, ""), Reason: errOutgrown.Error()}
}

// listChangePackage writes the manifest t of a package of changes into b.
func listChangePackage(ctx context.Context, t Target, st *State, b *render.Body) (*packages.Contents, error) {
	begin, _, _ := strings.Cut(t.Part, "-")
	from, err := partition.ParseTime(begin)
	if err != nil || from.After(time.Now()) {
		return nil, t.NotExist("an interval of the past")
	}
	dump, err := t.Set.ChangePackages.Dump(ctx)
	if err != nil {
		return nil, err
	}
	p, found := dump.Find(t.Part)
	if !found {
		return nil, t.dumpMoved()
	}
	c, err := listChangesOf(ctx, t, p, b)
	if errors.Is(err, ErrMoved) {
		return nil, t.dumpMoved()
	}
	if err == nil {
		st.close(versionJournal{Journal{t.Set}}, p, c.At)
	}
	return c, err
}

// listChangesOf writes the manifest t of the package with the changes in iv into b.
func listChangesOf(ctx context.Context, t Target, iv resourcesync.Interval, b *render.Body) (*packages.Contents, error) {
	c := packages.NewContents(t.Set.patchOpener != nil)
	var err error
	if c.At, err = listChanges(ctx, t, Journal{t.Set}, iv, b, c.AddChange); err != nil {
		return nil, err
	}
	c.Text.Size = b.Len()
	return c, nil
}
