package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// batch is the maximum number of changes that one transaction makes visible.
const batch = 1000

// sequence numbers committed changes until none is pending. It uses several
// transactions, and each leaves a consistent state. It returns for how long they took
// together, while writers to SQLite had to wait.
func (s *Store) sequence(ctx context.Context) (held time.Duration, err error) {
	for {
		pending, err := rowdb.One(ctx, s.db, rowdb.Int, "SELECT 1 FROM rs_pending LIMIT 1")
		if err != nil || pending == 0 {
			return held, err
		}
		var begun time.Time
		err = s.db.Update(ctx, func(c rowdb.Conn) error {
			begun = time.Now()
			_, err := s.numberBatch(ctx, c)
			return err
		})
		if err != nil {
			return held, err
		}
		held += time.Since(begun)
		s.noteDiscarded()
	}
}

// Pending returns when the oldest change was recorded that has no datetime yet, in the journal
// of any set of the store, or the zero time if there is none. A change becomes visible with
// its datetime. While the database can be written, that takes two seconds at most after the
// commit of the host's transaction.
func (j *Journal) Pending(ctx context.Context) (time.Time, error) {
	at, err := rowdb.One(ctx, j.store.db, rowdb.Int, "SELECT recorded FROM rs_pending ORDER BY id LIMIT 1")
	if err != nil || at == 0 {
		return time.Time{}, j.fail("pending", err)
	}
	return moment(at), nil
}

// numberAll numbers all pending changes, so that later edits of the same transaction are
// later in the journal.
func (s *Store) numberAll(ctx context.Context, c rowdb.Conn) error {
	for {
		n, err := s.numberBatch(ctx, c)
		if err != nil || n < batch {
			return err
		}
	}
}

// numberBatch numbers a batch of pending changes, and returns how many there were.
func (s *Store) numberBatch(ctx context.Context, c rowdb.Conn) (int, error) {
	taken, err := s.takePending(ctx, c)
	if err != nil {
		return 0, err
	}
	edits := map[int64][]changes.Edit{}
	var sets []int64
	var long []*pending // whose keys no document can have: hosts may have rows like that
	for _, p := range taken {
		if len(p.edit.Key) > resourcesync.MaxKeyLength {
			long = append(long, p)
			continue
		}
		if p.err != nil {
			s.log.LogAttrs(ctx, slog.LevelError, "a pending change is invalid and has been dropped",
				slog.Int64("id", p.id), slog.String("key", p.edit.Key), slog.Any("error", p.err))
			continue
		}
		if edits[p.set] == nil {
			sets = append(sets, p.set)
		}
		edits[p.set] = append(edits[p.set], p.edit)
	}
	if len(long) > 0 {
		s.log.LogAttrs(ctx, slog.LevelWarn, "changes of resources that no document can list have been dropped: their keys are too long",
			slog.Int("changes", len(long)), slog.Int("most_bytes", resourcesync.MaxKeyLength), slog.String("first", long[0].edit.Key[:100]))
	}
	for _, id := range sets {
		set, err := readSet(ctx, c, id)
		if err == errNoSet {
			s.log.LogAttrs(ctx, slog.LevelError, "pending changes belong to no set and have been dropped",
				slog.Int64("set_id", id), slog.Int("changes", len(edits[id])))
			continue
		}
		if err == nil && set.journal {
			err = s.keepReturned(ctx, c, &set, edits[id])
		}
		if err == nil {
			_, err = s.apply(ctx, c, &set, edits[id], nil)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(taken), nil
}

// takePending removes a batch of pending changes and returns them in the order of their ids.
// That is the order of recording. For changes of one key, which the row locks of the host's
// table keep apart, it is the order in which they happened.
func (s *Store) takePending(ctx context.Context, c rowdb.Conn) ([]*pending, error) {
	const columns = "id, set_id, change, key, body, uri, lastmod, length, type, encoding, hash"
	if s.db.Dialect() == rowdb.SQLite {
		// Nobody else writes now, so the rows are those up to an id. Meanwhile, writers wait.
		taken, err := rowdb.All(ctx, c, readPending, "SELECT "+columns+" FROM rs_pending ORDER BY id LIMIT $1", batch)
		if err == nil && len(taken) > 0 {
			_, err = c.Exec(ctx, "DELETE FROM rs_pending WHERE id <= $1", taken[len(taken)-1].id)
		}
		return taken, err
	}
	taken, err := rowdb.All(ctx, c, readPending,
		"DELETE FROM rs_pending WHERE id IN (SELECT id FROM rs_pending ORDER BY id LIMIT $1) RETURNING "+columns, batch)
	slices.SortFunc(taken, func(a, b *pending) int { return cmp.Compare(a.id, b.id) })
	return taken, err
}

// A pending is a row of rs_pending. A trigger of the host may have written it, so it may be
// invalid.
type pending struct {
	id, set int64
	edit    changes.Edit
	err     error
}

func readPending(row rowdb.Row) *pending {
	key, change := rowdb.String(row, 3), resourcesync.ChangeType(rowdb.String(row, 2))
	p := &pending{id: row.Int(0), set: row.Int(1), edit: changes.Edit{Type: change, Key: key}}
	switch {
	case key == "":
		p.err = errors.New("the key is empty")
	case change != resourcesync.Created && change != resourcesync.Updated && change != resourcesync.Deleted:
		p.err = fmt.Errorf("unknown type of change %q", change)
	case row.Null(4):
		p.edit.Resource = readColumns(row, key)
	default:
		p.edit.Resource, p.err = codec.Decode(key, row.Append(nil, 4))
	}
	return p
}

// readColumns returns the resource that a trigger has written to the columns of a row.
func readColumns(row rowdb.Row, key string) *resourcesync.Resource {
	r := &resourcesync.Resource{Key: key, URI: rowdb.String(row, 5)}
	if !row.Null(6) {
		r.LastModified = moment(row.Int(6))
	}
	if !row.Null(7) {
		r.Length = resourcesync.Bytes(row.Int(7))
	}
	r.Type = rowdb.String(row, 8)
	r.Encoding = rowdb.String(row, 9)
	r.Hashes, _ = resourcesync.AppendHashes(nil, rowdb.String(row, 10))
	return r
}
