package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

//docs:begin provider

// Papers publishes a shelf.
type Papers struct {
	*Shelf
	site string // the public URL, without a slash at its end
}

// Resources implements [resourcesync.Provider].
func (p Papers) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for _, paper := range p.between(r) {
			if err := ctx.Err(); err != nil {
				yield(resourcesync.Resource{}, err)
				return
			}
			if !yield(p.resource(paper), nil) {
				return
			}
		}
	}
}

// between returns the papers whose IDs are in r, in order.
func (p Papers) between(r resourcesync.Range) []Paper {
	p.mu.RLock()
	defer p.mu.RUnlock()
	from, _ := p.find(r.From)
	to := len(p.papers)
	if r.To != "" {
		to, _ = p.find(r.To)
	}
	return slices.Clone(p.papers[from:max(from, to)])
}

// resource returns the entry of a paper.
func (p Papers) resource(paper Paper) resourcesync.Resource {
	return resourcesync.Resource{
		Key:          paper.ID,
		URI:          p.site + "/papers/" + url.PathEscape(paper.ID),
		LastModified: paper.Modified,
		Length:       resourcesync.Bytes(int64(len(paper.Text))),
		Type:         "text/plain",
		Hashes:       []resourcesync.Hash{{Algorithm: "sha-256", Digest: digest(paper.Text)}},
	}
}

//docs:end

//docs:begin stater

// Stat implements [resourcesync.Stater].
func (p Papers) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	stat := resourcesync.Stat{Count: -1, LastModified: p.opened, Version: fmt.Sprint(len(p.log))}
	if n := len(p.log); n > 0 {
		stat.LastModified = p.log[n-1].at
	}
	return stat, nil
}

//docs:end

//docs:begin changer

// Since implements [resourcesync.Changer].
func (p Papers) Since(ctx context.Context) (time.Time, error) { return p.opened, nil }

// Changes implements [resourcesync.Changer].
func (p Papers) Changes(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		p.mu.RLock()
		log := p.log // events are only appended
		p.mu.RUnlock()
		for _, e := range log {
			if err := ctx.Err(); err != nil {
				yield(resourcesync.Change{}, err)
				return
			}
			if !e.at.After(iv.From) || !iv.Until.IsZero() && e.at.After(iv.Until) {
				continue
			}
			if !yield(p.change(e), nil) {
				return
			}
		}
	}
}

// change returns the entry of an event. A deleted paper has no length and no hash.
func (p Papers) change(e event) resourcesync.Change {
	r := p.resource(e.paper)
	switch e.kind {
	case resourcesync.Deleted:
		r = resourcesync.Resource{Key: r.Key, URI: r.URI}
	case resourcesync.Updated:
		r.Links = []resourcesync.Link{p.patch(e)} // see step 8
	}
	return resourcesync.Change{Type: e.kind, Datetime: e.at, Resource: r}
}

//docs:end

//docs:begin cutter

// Cuts implements [resourcesync.Cutter].
func (p Papers) Cuts(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	limit := min(2*every, 50_000) // a page may grow up to here before it is split
	if len(previous) <= 1 {
		previous, limit = []resourcesync.Cut{{}}, every
	}
	var cuts []resourcesync.Cut
	from := 0
	for _, old := range previous {
		to := len(p.papers)
		if old.Key != "" {
			to, _ = p.find(old.Key)
		}
		for to-from > limit { // split
			from += every
			cuts = append(cuts, resourcesync.Cut{Key: p.papers[from].ID, Count: every})
		}
		n := len(cuts) - 1
		if n >= 0 && (to == from || cuts[n].Count+to-from <= every/2) { // join
			cuts[n].Key, cuts[n].Count = old.Key, cuts[n].Count+to-from
		} else if to > from || old.Key == "" { // keep
			cuts = append(cuts, resourcesync.Cut{Key: old.Key, Count: to - from})
		}
		from = to
	}
	return cuts, nil
}

//docs:end

//docs:begin opener

// Open implements [resourcesync.Opener].
func (p Papers) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	i, found := p.find(r.Key)
	if !found || digest(p.papers[i].Text) != r.Hashes[0].Digest {
		return nil, fs.ErrNotExist // this version is gone
	}
	return io.NopCloser(strings.NewReader(p.papers[i].Text)), nil
}

//docs:end
