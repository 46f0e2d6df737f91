package sqlstore

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
)

// BenchmarkRecord records changes, 100 in a transaction. Each way is compared with
// inserting rows that were encoded before into a table with the same columns, with the
// same driver and durability.
func BenchmarkRecord(b *testing.B) {
	changes := make([]resourcesync.Change, 100)
	rows := make([]pendingRow, len(changes))
	for i := range changes {
		r := article(i)
		changes[i] = resourcesync.Change{Type: resourcesync.Updated, Resource: r}
		rows[i] = pendingRow{string(resourcesync.Updated), []byte(r.Key), codec.Append(nil, &r)}
	}
	b.Run("sqlite", func(b *testing.B) {
		db := newSQLite(b)
		set := db.open(b, nil).mustSet(b, "articles", nil)
		conn, err := sqlite.OpenConn(string(db), sqlite.OpenReadWrite|sqlite.OpenWAL)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close() })
		for _, sql := range []string{
			"PRAGMA synchronous=FULL",
			"CREATE TABLE bare (id INTEGER PRIMARY KEY, set_id INTEGER NOT NULL, change TEXT NOT NULL, key BLOB NOT NULL, body BLOB, uri TEXT, lastmod INTEGER, length INTEGER, type TEXT, encoding TEXT, hash TEXT)",
		} {
			if err := sqlitex.ExecuteTransient(conn, sql, nil); err != nil {
				b.Fatal(err)
			}
		}
		transaction := func(f func() error) {
			end, err := sqlitex.ImmediateTransaction(conn)
			if err != nil {
				b.Fatal(err)
			}
			err = f()
			end(&err)
			if err != nil {
				b.Fatal(err)
			}
		}
		insert := func() error {
			stmt := conn.Prep("INSERT INTO bare (set_id, change, key, body) VALUES (?, ?, ?, ?)")
			for _, r := range rows {
				stmt.Reset()
				stmt.BindInt64(1, set.id)
				stmt.BindText(2, r.change)
				stmt.BindBytes(3, r.key)
				stmt.BindBytes(4, r.body)
				if _, err := stmt.Step(); err != nil {
					return err
				}
			}
			return nil
		}
		compare(b,
			func() {
				transaction(func() error { return set.Record(b.Context(), SQLiteTx(conn), changes...) })
			},
			func() { transaction(insert) })
	})
	b.Run("postgres", func(b *testing.B) {
		db := newPostgres(b)
		set := db.open(b, nil).mustSet(b, "articles", nil)
		pool, err := pgxpool.New(b.Context(), string(db))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(pool.Close)
		if _, err := pool.Exec(b.Context(), "CREATE TABLE bare (LIKE rs_pending INCLUDING ALL)"); err != nil {
			b.Fatal(err)
		}
		ids, names, keys, bodies := make([]int64, len(rows)), make([]string, len(rows)), make([][]byte, len(rows)), make([][]byte, len(rows))
		for i, r := range rows {
			ids[i], names[i], keys[i], bodies[i] = set.id, r.change, r.key, r.body
		}
		transaction := func(f func(tx pgx.Tx) error) {
			if err := pgx.BeginFunc(b.Context(), pool, f); err != nil {
				b.Fatal(err)
			}
		}
		compare(b,
			func() {
				transaction(func(tx pgx.Tx) error { return set.Record(b.Context(), PgxTx(tx), changes...) })
			},
			func() {
				transaction(func(tx pgx.Tx) error {
					_, err := tx.Exec(b.Context(), "INSERT INTO bare (set_id, change, key, body) SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bytea[])",
						ids, names, keys, bodies)
					return err
				})
			})
	})
	for _, e := range engines {
		b.Run(e.name+", database/sql", func(b *testing.B) {
			db := e.make(b)
			set := db.open(b, nil).mustSet(b, "articles", nil)
			host := newWriter(b, db)
			table := "CREATE TABLE bare (id INTEGER PRIMARY KEY, set_id INTEGER NOT NULL, change TEXT NOT NULL, key BLOB NOT NULL, body BLOB, uri TEXT, lastmod INTEGER, length INTEGER, type TEXT, encoding TEXT, hash TEXT)"
			if db.isPostgres() {
				table = "CREATE TABLE bare (LIKE rs_pending INCLUDING ALL)"
			}
			if _, err := host.db.Exec(table); err != nil {
				b.Fatal(err)
			}
			statement, args := insertPending(set.store.db, set.id, rows)
			statement = strings.Replace(statement, "rs_pending", "bare", 1)
			transaction := func(f func(tx *sql.Tx) error) {
				if err := host.transaction(b.Context(), f); err != nil {
					b.Fatal(err)
				}
			}
			compare(b,
				func() {
					transaction(func(tx *sql.Tx) error { return set.Record(b.Context(), SQLTx(tx), changes...) })
				},
				func() {
					transaction(func(tx *sql.Tx) error { return SQLTx(tx).Exec(b.Context(), statement, args...) })
				})
		})
	}
}
