package sqlstore

import (
	"context"
	"fmt"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Notes returns the small values that a program keeps in the store beside its sets, under a name of
// its own, by their keys. It reads all of them.
func (s *Store) Notes(ctx context.Context, name string) (map[string][]byte, error) {
	notes := make(map[string][]byte)
	err := s.db.Query(ctx, "SELECT key, value FROM rs_note WHERE owner = $1", func(r rowdb.Row) error {
		notes[rowdb.String(r, 0)] = r.Append(nil, 1)
		return nil
	}, []byte(name))
	if err != nil {
		return nil, fmt.Errorf("sqlstore: notes: %w", err)
	}
	return notes, nil
}

// SaveNotes saves the values of put under a name, and removes others, in one transaction.
func (s *Store) SaveNotes(ctx context.Context, name string, put map[string][]byte, remove []string) error {
	keys := make([]string, 0, len(put))
	for key := range put {
		keys = append(keys, key)
	}
	err := s.db.Write(ctx, func(c rowdb.Conn) error {
		err := c.ExecEach(ctx, "DELETE FROM rs_note WHERE owner = $1 AND key = $2", len(remove),
			func(i int) []any { return []any{[]byte(name), []byte(remove[i])} })
		if err != nil {
			return err
		}
		return c.ExecEach(ctx, `INSERT INTO rs_note (owner, key, value) VALUES ($1, $2, $3)
			ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value`, len(keys),
			func(i int) []any { return []any{[]byte(name), []byte(keys[i]), put[keys[i]]} })
	})
	if err != nil {
		return fmt.Errorf("sqlstore: notes: %w", err)
	}
	return nil
}
