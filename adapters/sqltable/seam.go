package sqltable

import (
	"context"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
)

func init() {
	engine.Open = func(ctx context.Context, db engine.DB, table any) (any, error) {
		return newSet(ctx, db, table.(Table))
	}
	engine.List = func(ctx context.Context, db engine.DB, table, options any) (any, error) {
		return newListing(ctx, db, table.(Table), options.(*ListingOptions))
	}
	engine.Triggers = func(db engine.TriggerDB) any { return &Triggers{db} }
}
