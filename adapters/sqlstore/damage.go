package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// ErrDamaged reports content of the database that differs from what was written: a row
// that cannot be decoded, or damage that the engine reports. The error that wraps it
// names the table and the row, or the file. [Store.Health] reports it until the row has
// been replaced or the process ends.
//
// [Set.Known] does not return a damaged resource, and the next [Set.Scan] that lists it
// replaces it. A damaged change stays until retention deletes it.
var ErrDamaged = rowdb.ErrDamaged

// reading is the name of the work that fails when a damaged row is read.
const reading = "reading"

// oldestSnapshot is how long after a commit a reader may still find a row that the
// transaction has discarded.
const oldestSnapshot = 5 * time.Second

// damagedRow adds the table and the key of a row to err, the error of decoding it.
func damagedRow(err error, table string, key []byte) error {
	return fmt.Errorf("%s, row of key %q: %w", table, key, err)
}

// noteDamage records an error that reports damage, and logs it if it is new.
func (s *Store) noteDamage(set string, err error) {
	if errors.Is(err, ErrDamaged) && s.failures.Failed(reading, err) {
		s.log.LogAttrs(context.Background(), slog.LevelError, "the database is damaged", slog.String("set", set), slog.Any("error", err))
	}
}

// noteDiscarded clears the recorded damage after the commit of a transaction that has
// discarded a damaged row. Before the commit, readers would record it again.
func (s *Store) noteDiscarded() {
	if s.discarded.CompareAndSwap(true, false) {
		s.failures.Succeeded(reading)
		// A reader with an older snapshot may still find the discarded row. Damage that
		// remains is recorded again by its next reader.
		time.AfterFunc(oldestSnapshot, func() { s.failures.Succeeded(reading) })
	}
}
