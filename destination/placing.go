package destination

import (
	"context"
	"fmt"

	"github.com/resourcesync-go/resourcesync/destination/internal/localname"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/digest"
)

// freePath returns a path for a new copy. If one with a readable name may be free once the
// deletions of the group are recorded, it is errNextGroup.
func (g *group) freePath(uri string) (string, error) {
	path, err := g.state.FreePath(uri, g.host)
	if g.deletes && (err != nil || path != localname.Of(uri, g.host)) {
		return "", errNextGroup
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", uri, err)
	}
	return path, nil
}

// shown returns the state of the copy after the change of t.
func (t *task) shown(path string) *state.Resource {
	res := &t.Change.Resource
	have := &state.Resource{
		Path: path, Set: t.Set, List: t.List, Seen: max(t.Seen, t.Have.Seen), Datetime: t.Have.DatetimeAfter(t.Change.Datetime),
		LastMod: res.LastModified, Length: res.Length, Size: t.Have.Size, Hashes: t.Have.Hashes, Validators: t.Have.Validators,
	}
	if t.List == "" {
		have.List = t.Have.List
	}
	c := t.content
	if c == nil {
		return have // adopted, because the entry has its hash
	}
	if t.Doubt == state.DoubtDeletion && t.Known && (c.NotModified || digest.Agree(t.Have.Hashes, c.Hashes)) {
		have.LastMod, have.Length = t.Have.LastMod, t.Have.Length // the version is the one that it was
	}
	if !c.NotModified {
		have.Size, have.Hashes, have.Validators = c.Size, c.Hashes, c.Validators
	}
	have.Asked = c.Date
	have.Vague = state.IsVague(res, have.Asked)
	return have
}

// placeNow is like place, for a Sink that is not a Flusher. The group ends with the next call of
// such a Sink.
func (g *group) placeNow(ctx context.Context) error {
	if _, flusher := g.sink.(Flusher); flusher {
		return nil
	}
	g.stored = true
	return g.place(ctx)
}

// place records the contents that are about to be stored or deleted.
func (g *group) place(ctx context.Context) error {
	if len(g.placing) == 0 {
		return nil
	}
	placing := g.placing
	g.placing = nil
	identities, err := g.identify(ctx, placing)
	if err != nil {
		return err
	}
	for i := range placing {
		if placing[i].Deletes {
			placing[i].Identity, identities = identities[0], identities[1:]
		}
	}
	return g.state.Place(ctx, placing)
}
