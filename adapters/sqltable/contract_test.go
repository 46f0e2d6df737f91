package sqltable

import (
	"testing"

	"github.com/resourcesync-go/resourcesync/scan"
	"github.com/resourcesync-go/resourcesync/scan/scantest"
)

// TestOrigin: the listing of a table obeys the contract of an origin, in each engine.
func TestOrigin(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *database{"PostgreSQL": postgresDatabase, "SQLite": sqliteDatabase, "MariaDB": mysqlDatabase} {
		t.Run(name, func(t *testing.T) {
			scantest.Test(t, func(t testing.TB) scantest.Case {
				d := open(t)
				d.run("CREATE TABLE papers (slug VARCHAR(40) NOT NULL PRIMARY KEY, size INTEGER)",
					"INSERT INTO papers VALUES ('a', 1), ('b', 2), ('c', 3), ('d', 4)")
				return scantest.Case{
					Open: func(t testing.TB) scan.Origin {
						return d.list(Table{Name: "papers", Key: "slug", URI: "https://example.org/{slug}", Length: "size"})
					},
					Change: func(t testing.TB) []string {
						d.run("UPDATE papers SET size = 10 WHERE slug = 'a'", "DELETE FROM papers WHERE slug = 'b'", "INSERT INTO papers VALUES ('e', 5)")
						return []string{"a", "b", "e"}
					},
					Break: func(t testing.TB) { d.run("DROP TABLE papers") },
				}
			})
		})
	}
}
