package rowdb

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// newTables makes the tables of a new database.
const newTables = "migrations/new.sql"

// Migrate brings the tables of db up to date. The folder "migrations" of files
// holds scripts whose names begin with their number, from 0001 without a gap.
// Migrate runs those that have not been run, in order, each in a transaction
// that also records its number. steps has functions for what no script can do, by the
// number of the script after which they run, in its transaction. Any number of processes
// may call Migrate at the same time. It writes nothing if the tables are up to date.
//
// The file "migrations/new.sql", if there is one, runs in a new database in place of all scripts, because
// it takes a fraction of their time. It makes the same tables, and records the same numbers.
//
// After a script, programs that do not know it refuse the tables with ErrNewer, unless its first
// line says which programs may still use them:
//
//	-- programs: 21
//
// means those that know script 21, which may run at the same time. Such a script only adds what
// they need not know, or removes what they do not use. So a column is replaced in two
// releases: one adds the new column and writes both, and the next one removes the old one.
func Migrate(ctx context.Context, db DB, files fs.FS, steps map[int]func(context.Context, Conn) error) error {
	scripts, err := fs.Glob(files, "migrations/[0-9]*.sql")
	if err != nil {
		return err
	}
	for i, name := range scripts {
		number, _, _ := strings.Cut(path.Base(name), "_")
		if n, err := strconv.Atoi(number); err != nil || n != i+1 {
			return fmt.Errorf("rowdb: migration %s is not number %d", name, i+1)
		}
	}
	// A positive number identifies a script that programs must know, and a negative one a
	// script that they need not know. Programs of early versions look at the greatest alone.
	read := func(c Querier) (l level, err error) {
		return One(ctx, c, func(r Row) level { return level{required: int(r.Int(0)), run: max(int(r.Int(0)), -int(r.Int(1)))} },
			"SELECT coalesce(max(number), 0), coalesce(min(number), 0) FROM rs_migration")
	}
	if now, err := read(db); err == nil && now.required <= len(scripts) && now.run >= len(scripts) {
		return nil
	}
	now := level{run: -1}
	for now.run < len(scripts) {
		err := db.Update(ctx, func(c Conn) (err error) {
			if err := c.Script(ctx, "CREATE TABLE IF NOT EXISTS rs_migration (number BIGINT PRIMARY KEY)"); err != nil {
				return err
			}
			if now, err = read(c); err != nil || now.run >= len(scripts) {
				return err
			}
			if script, err := fs.ReadFile(files, newTables); err == nil && now == (level{}) {
				if err := c.Script(ctx, string(script)); err != nil {
					return fmt.Errorf("%s: %w", newTables, err)
				}
				now.run = len(scripts)
				return nil
			}
			name := scripts[now.run]
			script, err := fs.ReadFile(files, name)
			if err != nil {
				return err
			}
			if err := c.Script(ctx, string(script)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			now.run++
			if step := steps[now.run]; step != nil {
				if err := step(ctx, c); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			required, err := requiredBy(string(script), now.run)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if required > now.required {
				if _, err := c.Exec(ctx, "INSERT INTO rs_migration (number) VALUES ($1)", required); err != nil {
					return err
				}
			}
			if required < now.run {
				_, err = c.Exec(ctx, "INSERT INTO rs_migration (number) VALUES ($1)", -now.run)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("rowdb: migration: %w", err)
		}
	}
	if now.required > len(scripts) {
		return fmt.Errorf("rowdb: %w: the tables have version %d, and this program knows versions up to %d", ErrNewer, now.required, len(scripts))
	}
	return nil
}

// A level is what the tables have, and what programs must know to use them.
type level struct{ run, required int }

// requiredBy returns the number of the script that programs must know after a script with this
// number.
func requiredBy(script string, number int) (int, error) {
	line, _, _ := strings.Cut(script, "\n")
	text, stated := strings.CutPrefix(line, "-- programs: ")
	if !stated {
		return number, nil
	}
	n, err := strconv.Atoi(text)
	if err == nil && (n < 1 || n > number) {
		err = fmt.Errorf("its first line names script %d, but must name one from 1 to %d", n, number)
	}
	return n, err
}
