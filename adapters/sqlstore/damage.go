package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// ErrDamaged says that something in the database is not as it was written: a row
// whose content cannot be decoded, or what the engine itself reports as damaged. The
// error that wraps it names the table and the row, or the file. [Store.Health]
// reports it until the process ends or the row has been replaced.
//
// A damaged resource is unknown to [Set.Known] and replaced by the next [Set.Scan]
// that lists it. A damaged change stays until retention deletes it.
var ErrDamaged = rowdb.ErrDamaged

// reading is the name of the work that fails when something damaged is read.
const reading = "reading"

// damagedRow says which row err, an error of decoding it, is about.
func damagedRow(err error, table string, key []byte) error {
	return fmt.Errorf("%s, row of key %q: %w", table, key, err)
}

// noteDamage remembers an error about damage, and logs it if it is new.
func (s *Store) noteDamage(set string, err error) {
	if errors.Is(err, ErrDamaged) && s.failures.Failed(reading, err) {
		s.log.LogAttrs(context.Background(), slog.LevelError, "the database is damaged", slog.String("set", set), slog.Any("error", err))
	}
}

// noteDiscarded forgets the damage when a transaction that has discarded a damaged row
// is committed. Until then readers meet the row, and note it again.
func (s *Store) noteDiscarded() {
	if s.discarded.CompareAndSwap(true, false) {
		s.failures.Succeeded(reading)
	}
}
