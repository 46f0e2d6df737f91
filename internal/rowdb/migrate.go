package rowdb

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Migrate brings the tables of db up to date. The folder "migrations" of files
// holds scripts whose names begin with their number, from 0001 without a gap.
// Migrate runs those that have not been run, in order, each in a transaction
// that also records its number. steps has functions for what no script can do, by the
// number of the script after which they run, in its transaction. Any number of processes
// may call Migrate at the same time. It writes nothing if the tables are up to date.
func Migrate(ctx context.Context, db DB, files fs.FS, steps map[int]func(context.Context, Conn) error) error {
	scripts, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return err
	}
	for i, name := range scripts {
		number, _, _ := strings.Cut(path.Base(name), "_")
		if n, err := strconv.Atoi(number); err != nil || n != i+1 {
			return fmt.Errorf("rowdb: migration %s is not number %d", name, i+1)
		}
	}
	current := func(c Querier) (int, error) {
		n, err := One(ctx, c, Int, "SELECT coalesce(max(number), 0) FROM rs_migration")
		return int(n), err
	}
	if version, err := current(db); err == nil && version == len(scripts) {
		return nil
	}
	version := -1
	for version < len(scripts) {
		err := db.Update(ctx, func(c Conn) (err error) {
			if err := c.Script(ctx, "CREATE TABLE IF NOT EXISTS rs_migration (number BIGINT PRIMARY KEY)"); err != nil {
				return err
			}
			if version, err = current(c); err != nil || version >= len(scripts) {
				return err
			}
			script, err := fs.ReadFile(files, scripts[version])
			if err != nil {
				return err
			}
			if err := c.Script(ctx, string(script)); err != nil {
				return fmt.Errorf("%s: %w", scripts[version], err)
			}
			version++
			if step := steps[version]; step != nil {
				if err := step(ctx, c); err != nil {
					return fmt.Errorf("%s: %w", scripts[version-1], err)
				}
			}
			_, err = c.Exec(ctx, "INSERT INTO rs_migration (number) VALUES ($1)", version)
			return err
		})
		if err != nil {
			return fmt.Errorf("rowdb: migration: %w", err)
		}
	}
	if version > len(scripts) {
		return fmt.Errorf("rowdb: %w: the tables have version %d, and this program knows versions up to %d", ErrNewer, version, len(scripts))
	}
	return nil
}
