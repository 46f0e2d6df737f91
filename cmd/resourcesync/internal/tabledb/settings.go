package tabledb

import (
	"encoding/csv"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/completion"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

// Settings describe a table, for triggers and table alike.
type Settings struct {
	DB    string
	Set   string // the name in the triggers
	Table sqltable.Table
}

func (s *Settings) Declare(c *settings.Catalog) {
	t := &s.Table
	c.AddSecret(settings.Setting{Name: "db", Value: settings.Text(&s.DB), Need: "the database with the table", Example: "postgres://user@host/database", Show: settings.WithoutPassword, Offer: completion.Files,
		Text: `The database: an SQLite file, postgres://user@host/database, or mysql://user@host/database for
			MariaDB and MySQL, with ?socket=PATH for a socket. The user needs SELECT on the table. With
			triggers in MariaDB or MySQL, the user also needs TRIGGER on the table, and SELECT and DELETE on
			the outbox.`})
	c.Add(
		settings.Setting{Name: "table", Value: settings.Func(s.setTable), Need: "the table or view", Example: "articles",
			Text: `The table or view, as in articles, cms.articles or "My Schema"."My Table".`},
		settings.Setting{Name: "key", Value: settings.Text(&t.Key), Need: "the column that identifies a row", Example: "id",
			Text: `The column that identifies a row. It is unique and never NULL. If several columns do so together,
				create a view in which one column joins them.`},
		settings.Setting{Name: "uri", Value: settings.Text(&t.URI), Need: "the template of the URIs, with columns in braces", Example: "https://example.org/articles/{id}",
			Text: `The template of the URIs of the resources, such as https://example.org/articles/{id}, with names
				of columns in braces. Values are percent-encoded, unless there is a plus sign, as in {+url}.`},
		settings.Setting{Name: "set", Value: settings.Text(&s.Set), Group: settings.State, Without: "the name of the table",
			Text: `The name of the set in the triggers that record changes. See "resourcesync triggers".`},
		settings.Setting{Name: "lastmod", Value: settings.Text(&t.LastModified),
			Text: "The column with the time of the last modification. Times without a zone are in UTC."},
		settings.Setting{Name: "unit", Value: settings.Func(s.setUnit), Without: "s", Offer: completion.Values{Words: []string{"s", "ms", "us"}}, Group: settings.Lists,
			Text: "The unit of times that are integers: s, ms or us."},
		settings.Setting{Name: "length", Value: settings.Text(&t.Length), Group: settings.Lists,
			Text: "The column with the length in bytes."},
		settings.Setting{Name: "type", Value: settings.Text(&t.Type), Group: settings.Lists,
			Text: "The column with the media type."},
		settings.Setting{Name: "hash-column", Value: settings.Each(s.addHash), Group: settings.Lists,
			Text: `An algorithm and the column with its checksum, as in sha-256=checksum. Without an algorithm, the
				column contains it: md5:900150983c…`},
		settings.Setting{Name: "where", Value: settings.Text(&t.Where),
			Text: "The condition for rows to be published, in SQL."},
		settings.Setting{Name: "deleted", Value: settings.Text(&t.Deleted), Group: settings.Lists,
			Text: "The column that marks deleted rows, by the time of the deletion or by a flag."},
	)
}

func (s *Settings) setTable(text string) (err error) {
	s.Table.Schema, s.Table.Name, err = splitTable(text)
	return err
}

func (s *Settings) setUnit(text string) error {
	units := map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond}
	if s.Table.Unit = units[text]; s.Table.Unit == 0 {
		return errors.New("give s, ms or us")
	}
	return nil
}

func (s *Settings) addHash(text string) error {
	algorithm, column, found := strings.Cut(text, "=")
	if !found {
		algorithm, column = "", text
	}
	if s.Table.Hashes == nil {
		s.Table.Hashes = map[string]string{}
	}
	s.Table.Hashes[algorithm] = column
	return nil
}

// Check returns an error for an address that does not name a database, or an invalid template.
func (s *Settings) Check() error {
	var f settings.Faults
	f.If(strings.Contains(s.DB, "://") && !IsPostgres(s.DB) && !IsMySQL(s.DB), "db", "give an SQLite file, postgres://user@host/database or mysql://user@host/database")
	if err := settings.CheckAddress(s.DB); err != nil {
		f.Add(settings.Fault("db", "%w", err))
	}
	if s.Table.URI != "" {
		if err := sqltable.CheckTemplate(s.Table.URI); err != nil {
			f.Add(settings.Fault("uri", "%w", err))
		}
	}
	return f.Err()
}

// splitTable splits a table name with an optional schema. A name in double quotes may
// contain dots, and double quotes, which are doubled.
func splitTable(s string) (schema, table string, err error) {
	r := csv.NewReader(strings.NewReader(s))
	r.Comma = '.'
	lines, err := r.ReadAll()
	if errors.Is(err, csv.ErrQuote) {
		return "", "", errors.New("a double quote is not closed")
	}
	if err != nil || len(lines) != 1 || len(lines[0]) > 2 || slices.Contains(lines[0], "") {
		return "", "", errors.New("give a table, or a schema, a dot and a table")
	}
	if names := lines[0]; len(names) == 2 {
		return names[0], names[1], nil
	}
	return "", lines[0][0], nil
}

// fieldSettings are the settings of the fields of a [sqltable.Table] that name the table and its columns.
var fieldSettings = map[string]string{
	"Name": "table", "Key": "key", "URI": "uri", "LastModified": "lastmod", "Length": "length", "Type": "type", "Hashes": "hash-column", "Deleted": "deleted",
}

// Refuse returns an error about a table. It names the setting of a wrong table or column.
func Refuse(command string, err error) error {
	if wrong, ok := errors.AsType[*sqltable.FieldError](err); ok {
		return settings.Fault(fieldSettings[wrong.Field], "%w", wrong.Err)
	}
	return settings.Errorf("%s: %w", command, exit.OfDatabase(err))
}
