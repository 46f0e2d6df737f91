package sqlstore_test

import (
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
)

func init() {
	sqlstore.OpenFile, sqlstore.OpenPostgres = sqlitestore.OpenFile, pgstore.Open
	sqlstore.PgxTx, sqlstore.SQLiteTx = pgstore.Tx, sqlitestore.Tx
}
