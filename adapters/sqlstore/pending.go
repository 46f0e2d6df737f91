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

// A sequenced is the work of the sequencer.
type sequenced struct {
	changes int
	held    time.Duration // how long its transactions took, while writers to SQLite had to wait
}

// sequence numbers committed changes. It leaves those that are committed during its last batch to
// the next call: a host that waits for the lock of SQLite sleeps for milliseconds. It uses several
// transactions, and each leaves a consistent state.
func (s *Store) sequence(ctx context.Context) (done sequenced, err error) {
	for more := true; more && err == nil; {
		var batch sequenced
		batch, more, err = s.sequenceBatch(ctx)
		done.changes += batch.changes
		done.held += batch.held
	}
	return done, err
}

// sequenceBatch numbers a batch of committed changes, and reports whether more are pending.
func (s *Store) sequenceBatch(ctx context.Context) (done sequenced, more bool, err error) {
	var read *ahead
	if s.db.Dialect() == rowdb.SQLite {
		read, err = s.readAhead(ctx)
		if err != nil || read != nil && read.changes == 0 {
			return done, false, err
		}
	} else if pending, err := rowdb.One(ctx, s.db, rowdb.Int, "SELECT 1 FROM rs_pending LIMIT 1"); err != nil || pending == 0 {
		return done, false, err
	}
	var begun time.Time
	number := func(c rowdb.Conn) (err error) {
		begun = time.Now()
		if read != nil {
			done.changes = read.changes
			return s.numberAhead(ctx, c, read)
		}
		done.changes, err = s.numberBatch(ctx, c)
		return err
	}
	if err = s.db.Update(ctx, number); err == errStale {
		read = nil
		err = s.db.Update(ctx, number)
	}
	if err != nil {
		return sequenced{}, false, err
	}
	done.held = time.Since(begun)
	s.noteDiscarded()
	return done, done.changes == batch, nil
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
		if err == nil {
			err = s.numberEdits(ctx, c, &set, edits[id], nil)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(taken), nil
}

// numberEdits numbers pending changes of a set. before has those that are encoded, or is nil.
func (s *Store) numberEdits(ctx context.Context, c rowdb.Conn, set *setRow, edits []changes.Edit, before *preload) error {
	if set.journal {
		if err := s.keepReturned(ctx, c, set, edits); err != nil {
			return err
		}
	}
	_, err := s.apply(ctx, c, set, edits, before)
	return err
}

// pendingColumns are the columns that readPending reads.
const pendingColumns = "id, set_id, change, key, body, uri, lastmod, length, type, encoding, hash"

// takePending removes a batch of pending changes and returns them in the order of their ids.
// That is the order of recording. For changes of one key, which the row locks of the host's
// table keep apart, it is the order in which they happened.
func (s *Store) takePending(ctx context.Context, c rowdb.Conn) ([]*pending, error) {
	if s.db.Dialect() == rowdb.SQLite {
		// Writers wait for this transaction, so all rows up to an id are read and deleted.
		taken, err := rowdb.All(ctx, c, readPending, "SELECT "+pendingColumns+" FROM rs_pending ORDER BY id LIMIT $1", batch)
		if err == nil && len(taken) > 0 {
			_, err = c.Exec(ctx, "DELETE FROM rs_pending WHERE id <= $1", taken[len(taken)-1].id)
		}
		return taken, err
	}
	taken, err := rowdb.All(ctx, c, readPending,
		"DELETE FROM rs_pending WHERE id IN (SELECT id FROM rs_pending ORDER BY id LIMIT $1) RETURNING "+pendingColumns, batch)
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
