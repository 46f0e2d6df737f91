package triggers

import (
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/tabledb"
)

// A Config is the command line of triggers.
type Config struct {
	tabledb.Settings
	apply   bool
	drop    bool
	restart bool
}

// Declare adds the settings.
func (c *Config) Declare(catalog *settings.Catalog) {
	c.Settings.Declare(catalog)
	catalog.Add(
		settings.Setting{Name: "apply", Value: settings.Bool(&c.apply),
			Text: `Create or replace the triggers, and create the set if it does not exist. In MariaDB and MySQL,
				this locks the table for a moment. An SQLite file is switched to a write-ahead log
				(journal_mode=wal), which the state needs.`},
		settings.Setting{Name: "drop", Value: settings.Bool(&c.drop),
			Text: "Remove the triggers that --apply has created for this table and set."},
		settings.Setting{Name: "restart", Value: settings.Bool(&c.restart),
			Text: `Start the journal over, because changes are missing from it, or because the database was restored
				from a backup. Every Destination then compares its whole copy. PostgreSQL and SQLite only.`},
	)
	catalog.Change(settings.Setting{Name: "db",
		Text: `The database: an SQLite file, postgres://user@host/database, or mysql://user@host/database for
			MariaDB and MySQL, with ?socket=PATH for a socket. An SQLite file and a PostgreSQL database also
			contain the state; in PostgreSQL, in the first schema of the search path.`})
	catalog.Change(settings.Setting{Name: "key",
		Text: "The column that identifies a row. It is unique and never NULL."})
	catalog.Change(settings.Setting{Name: "set",
		Text: `The name of the set in the triggers that record changes. A table can have triggers for several
			sets.`})
	catalog.Change(settings.Setting{Name: "table",
		Text: `The table, as in articles, cms.articles or "My Schema"."My Table".`})
}

// Check returns an error for settings that do not go together.
func (c *Config) Check() error {
	var f settings.Faults
	f.If(c.apply && (c.drop || c.restart), "apply", "give one of --apply, --drop and --restart")
	f.If(c.drop && c.restart, "drop", "give one of --apply, --drop and --restart")
	f.If(c.restart && tabledb.IsMySQL(c.DB), "restart", "MariaDB and MySQL have no journal; comparisons find what triggers have missed")
	f.Add(c.Settings.Check())
	return f.Err()
}

// NeedsColumns reports whether the command reads columns of the table.
func (c *Config) NeedsColumns() bool { return !c.drop && !c.restart }
