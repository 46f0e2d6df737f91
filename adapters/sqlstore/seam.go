package sqlstore

import (
	"context"
	"io/fs"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/seam"
	"github.com/resourcesync-go/resourcesync/scan"
)

func init() {
	seam.OpenStore = func(ctx context.Context, db rowdb.DB, migrations fs.FS, opts any) (any, error) {
		return openStore(ctx, db, migrations, opts.(*Options))
	}
	seam.ReadFrom = func(ctx context.Context, store any, db rowdb.Standby) {
		s := store.(*Store)
		s.standby = newStandby(db)
		s.db = noting{s.db, s.standby}
		_, _, _ = s.Standby(ctx) // logs if it cannot be used
	}
	seam.Number = func(ctx context.Context, journal any, c rowdb.Conn) error {
		return journal.(*Journal).store.numberAll(ctx, c)
	}
	seam.Leave = func(ctx context.Context, journal any, c rowdb.Conn, limits any, listed, created int64) (int64, error) {
		return journal.(*Journal).leave(ctx, c, limits.(*scan.SetOptions), listed, created)
	}
}
