package destination

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/tree"
)

func (r *run) readChangeDumps(ctx context.Context, set tree.Set, st *state.Set) (noted int64, gap bool, err error) {
	c := r.newChangeReader(set, st)
	if err := r.state.ClearStaged(); err != nil {
		return 0, false, err
	}
	dumps := dumpReader{run: r, begin: func(p *page, from time.Time) (bool, error) {
		known, err := r.state.Reading(set.URI, p.uri)
		if err != nil {
			return false, err
		}
		reading := &state.Reading{Set: set.URI, URI: p.uri, Date: fetch.Date(p.Header), Whole: true}
		for _, uri := range p.listed {
			addPart(reading, known, uri)
		}
		c.read(reading)
		c.gap = c.begins(p, from) || c.isVague(known, from) && known.Lost()
		return !c.gap, nil
	}, each: func(e packageEntry) error { return c.dump(ctx, e) }, fresh: func(e packageEntry) (bool, error) {
		known, err := r.state.Reading(set.URI, cmp.Or(e.manifest, e.uri))
		return known == nil, err
	}}
	var failed error
	for _, uri := range set.Lists[resourcesync.ChangeDump] {
		if err = c.begin(uri); err != nil {
			break
		}
		dumps.since = c.cutoff
		var unread error
		unread, err = dumps.read(ctx, []string{uri})
		if failed = errors.Join(failed, unread); err != nil || c.gap {
			break
		}
	}
	return c.end(ctx, failed, err)
}
