package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/bucketurl"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
	"github.com/resourcesync-go/resourcesync/static"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// A place is a bucket in which the documents of some sets are kept.
type place struct {
	bucket      *bucketurl.Bucket
	sets        []string // names
	publication *static.Publication
	close       func() error
}

// openPlaces opens the buckets of the sets of p. Nothing is requested yet. Sets in one bucket share
// a lease, however their URLs are written: two leases would remove each other's documents.
func (p *publication) openPlaces(ctx context.Context) error {
	var buckets []string
	of := make(map[string][]*Member)
	for _, m := range p.members {
		bucket := m.config.Shared().PublishAt
		if bucket == nil {
			continue
		}
		to := bucket.String()
		if of[to] == nil {
			buckets = append(buckets, to)
		}
		of[to] = append(of[to], m)
	}
	for _, to := range buckets {
		pl, err := p.openPlace(ctx, of[to])
		if err != nil {
			p.closePlaces()
			return err
		}
		p.places = append(p.places, pl)
	}
	return nil
}

// openPlace opens the bucket of members.
func (p *publication) openPlace(ctx context.Context, members []*Member) (*place, error) {
	src, err := p.documentsOf(members)
	if err != nil {
		return nil, settings.Errorf("%w", err)
	}
	pl := &place{bucket: members[0].config.Shared().PublishAt}
	for _, m := range members {
		if _, ok := m.config.(*origin.Upstream); ok {
			m.Log.Warn("the bucket lists a page that becomes private until its Resource List is brought up to date, and keeps the lists of a set that is hidden", "bucket", pl.bucket.String(), "publish-lists", settings.SpanText(p.site.ListEvery))
		}
		if m.Name != "" {
			pl.sets = append(pl.sets, m.Name)
		}
	}
	client, done, err := pl.bucket.Objects(ctx)
	if err != nil {
		return nil, settings.Errorf("%w", err)
	}
	pl.close = done
	log := p.log.With("bucket", pl.bucket.String())
	store, err := objectstore.New(client, &objectstore.Options{Prefix: pl.bucket.Prefix, TryLock: p.state.LockOf(pl.bucket.String()), Logger: log})
	if err != nil {
		return nil, errors.Join(settings.Errorf("%w", err), done())
	}
	pl.publication = static.NewPublication(store, src, &static.PublicationOptions{Options: static.Options{Gzip: p.site.PublishGzip, Logger: log}, ListEvery: p.site.ListEvery})
	return pl, nil
}

// documentsOf returns the documents of members that are kept in a bucket. They have no dumps.
func (p *publication) documentsOf(members []*Member) (*static.Source, error) {
	c := p.site
	o := &static.SourceOptions{DescribedBy: c.DescribedBy, Division: static.Division(c.Division()), PlainSitemaps: c.Sitemap, WebSockets: p.sockets != nil, Logger: p.log}
	var sets []static.Set
	for _, m := range p.members {
		set := m.Published(c)
		if !slices.Contains(members, m) {
			o.Others = append(o.Others, wellknown.Set{CapabilityList: m.CapabilityList(), DescribedBy: set.DescribedBy})
			continue
		}
		sets = append(sets, static.Set{
			Name: set.Name, Provider: set.Provider, Stater: set.Stater, Cutter: set.Cutter, Changer: set.Changer,
			Archiver: set.Archiver, ChangeArchiver: set.ChangeArchiver, Watcher: set.Watcher,
			NoDumps: true, Hubs: c.Hubs(set), DescribedBy: set.DescribedBy,
		})
	}
	return static.New(p.documents.String(), sets, o)
}

func (p *publication) closePlaces() {
	for _, pl := range p.places {
		if err := pl.close(); err != nil {
			p.log.Warn("bucket not closed", "bucket", pl.bucket.String(), "error", err)
		}
	}
}

// run publishes until ctx ends.
func (pl *place) run(ctx context.Context, p *publication) error {
	p.log.Info("documents are kept in a bucket", "bucket", pl.bucket.String(), "lists", settings.SpanText(p.site.ListEvery))
	return pl.publication.Run(ctx)
}

// health returns why the documents in the bucket are not up to date.
func (pl *place) health(ctx context.Context) error {
	err := pl.publication.Health(ctx)
	if err == nil {
		return nil
	}
	remedy := "check the bucket, its permissions and the network"
	if errors.Is(err, objectstore.ErrForeign) {
		remedy = "it is published when the object is gone"
	}
	return fmt.Errorf("bucket %s: %w; %s", pl.bucket, err, remedy)
}

// status describes the place for operators.
func (pl *place) status() status.Place {
	return status.Place{Bucket: pl.bucket.String(), Sets: pl.sets, PublicationStatus: pl.publication.Status()}
}
