package daemon

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/harvesters"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

// keepHarvestersEvery is the interval at which harvesters are saved in the state.
const keepHarvestersEvery = time.Minute

// openHarvesters returns the log of harvesters. It is nil unless operators have an address and want
// one. It removes harvesters from the state that are not to be kept or are unreadable.
func (p *daemon) openHarvesters(ctx context.Context, c *site.Config) error {
	p.harvestersNote = "harvesters " + c.LogName()
	notes, err := p.state.Notes(ctx, p.harvestersNote)
	if err != nil {
		return err
	}
	if c.Status != "" && c.Harvesters {
		p.harvesters = harvesters.New()
		p.harvesters.Shorten = c.ShortenHarvesters
	}
	if p.keeps = c.KeepHarvesters; !p.keeps {
		return p.state.SaveNotes(ctx, p.harvestersNote, nil, slices.Collect(maps.Keys(notes)))
	}
	unreadable := p.harvesters.Restore(notes)
	if len(unreadable) == 0 {
		return nil
	}
	p.log.Warn("harvesters in the state cannot be read, and are removed from it; their next requests record them again", "harvesters", len(unreadable))
	return p.state.SaveNotes(ctx, p.harvestersNote, nil, unreadable)
}

// saveHarvesters saves changed harvesters, if they are to be kept.
func (p *daemon) saveHarvesters(ctx context.Context) {
	if !p.keeps {
		return
	}
	err := p.harvesters.Save(func(put map[string][]byte, remove []string) error {
		return p.state.SaveNotes(ctx, p.harvestersNote, put, remove)
	})
	if err != nil && ctx.Err() == nil {
		p.log.Warn("the harvesters could not be saved in the state; trying again in a minute", "error", err)
	}
}

// keepHarvesters saves the harvesters once a minute until ctx ends.
func (p *daemon) keepHarvesters(ctx context.Context) {
	for background.Sleep(ctx, keepHarvestersEvery) == nil {
		p.saveHarvesters(ctx)
	}
}
