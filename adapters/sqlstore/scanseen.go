package sqlstore

import (
	"context"
	"hash/maphash"
	"math/bits"
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// maxSeen is the number of keys that a scan keeps in memory, as hashes of 8 bytes. The
// others are in a temporary table. A scan that began with an empty set needs no table: it
// finds them among the rows that it has written.
const maxSeen = 1_500_000

// seen has the keys that a scan has seen in its listing. In memory they are hashes with a
// random seed. Two of a million keys are mixed up about once in ten million scans, and
// hardly ever twice: the next scan finds what this one has overlooked.
type seen struct {
	most    int // in memory
	likely  int // how many keys the listing will probably have
	seed    maphash.Seed
	hashes  []uint64 // an open hash table; 0 is free
	n       int
	total   int  // in memory and in the table
	spilled bool // there is a temporary table
}

// has reports whether the key of a hash is in memory.
func (s *seen) has(hash uint64) bool {
	return len(s.hashes) > 0 && s.hashes[s.slot(hash)] != 0
}

// hash returns the hash of a key, which is not 0.
func (s *seen) hash(key []byte) uint64 {
	if s.hashes == nil {
		s.seed, s.hashes = maphash.MakeSeed(), make([]uint64, max(slots(min(s.likely, s.most)), 1<<10))
	}
	return maphash.Bytes(s.seed, key) | 1
}

// slots returns the size of a table for n hashes, with a quarter to spare.
func slots(n int) int { return n/3*4 + 4 }

// slot returns the slot of a hash: the one that has it, or the free one for it.
func (s *seen) slot(hash uint64) int {
	first, _ := bits.Mul64(hash, uint64(len(s.hashes)))
	i := int(first)
	for s.hashes[i] != 0 && s.hashes[i] != hash {
		if i++; i == len(s.hashes) {
			i = 0
		}
	}
	return i
}

// add adds a hash that is not in memory.
func (s *seen) add(hash uint64) {
	if s.n >= len(s.hashes)/5*4 {
		old := s.hashes
		s.hashes = make([]uint64, min(2*len(old), slots(s.most)))
		for _, h := range old {
			if h != 0 {
				s.hashes[s.slot(h)] = h
			}
		}
	}
	s.hashes[s.slot(hash)] = hash
	s.n++
}

// see adds keys to those that the scan has seen. It calls each with the position of
// each that it has not seen before.
func (sc *scanRun) see(ctx context.Context, keys [][]byte, each func(i int)) error {
	isNew := func(i int) {
		sc.seen.total++
		each(i)
	}
	var rest []int // neither in memory nor room for them there
	for i, key := range keys {
		switch hash := sc.seen.hash(key); {
		case sc.seen.has(hash):
		case sc.seen.n >= sc.seen.most:
			rest = append(rest, i)
		default:
			sc.seen.add(hash)
			isNew(i)
		}
	}
	missing := sc.notSpilled
	if sc.empty {
		missing = sc.notStored
	}
	rest, err := missing(ctx, keys, rest)
	if err == nil && len(rest) > 0 && !sc.empty {
		err = sc.spill(ctx, keys, rest)
	}
	if err != nil {
		return err
	}
	for _, i := range rest {
		isNew(i)
	}
	return nil
}

// notSpilled returns the positions of the keys that are not in the temporary table, each
// key once. at are the positions to check.
func (sc *scanRun) notSpilled(ctx context.Context, keys [][]byte, at []int) (rest []int, err error) {
	isSpilled, err := sc.spilled(ctx, len(at), func(i int) []byte { return keys[at[i]] })
	return once(keys, at, isSpilled), err
}

// notStored is like notSpilled, for a set that was empty when the scan began: each key that
// has a row has been seen, or its row is newer than the listing.
func (sc *scanRun) notStored(ctx context.Context, keys [][]byte, at []int) (rest []int, err error) {
	isStored := make([]bool, len(at))
	names := make([]string, len(at))
	for i, at := range at {
		names[i] = string(keys[at])
	}
	err = readRows(ctx, sc.conn, sc.set.id, names, func(i int, row rowdb.Row) error {
		isStored[i] = !row.Null(4)
		return nil
	})
	return once(keys, at, isStored), err
}

// once returns the positions of the keys that are not known, each key once.
func once(keys [][]byte, at []int, isKnown []bool) (rest []int) {
	found := make(map[string]bool, len(at))
	for i, at := range at {
		if key := string(keys[at]); !isKnown[i] && !found[key] {
			found[key] = true
			rest = append(rest, at)
		}
	}
	return rest
}

// spilled reports which of n keys are in the temporary table.
func (sc *scanRun) spilled(ctx context.Context, n int, key func(i int) []byte) ([]bool, error) {
	found := make([]bool, n)
	if n == 0 || !sc.seen.spilled {
		return found, nil
	}
	return found, sc.conn.QueryEach(ctx, "SELECT 1 FROM rs_seen WHERE key = $1", n,
		func(i int) []any { return []any{key(i)} },
		func(i int, _ rowdb.Row) error { found[i] = true; return nil })
}

// spill adds the keys at some positions, which are new, to the temporary table. The INSERT
// has no RETURNING: with it, SQLite would first copy each page that it changes, which would
// take most of the time.
func (sc *scanRun) spill(ctx context.Context, keys [][]byte, at []int) error {
	if !sc.seen.spilled {
		if err := sc.table(ctx, "CREATE TEMP TABLE rs_seen (key BLOB PRIMARY KEY) WITHOUT ROWID"); err != nil {
			return err
		}
		sc.seen.spilled = true
	}
	return sc.inTransaction(ctx, func() error {
		return sc.conn.ExecEach(ctx, "INSERT INTO rs_seen (key) VALUES ($1)", len(at),
			func(i int) []any { return []any{keys[at[i]]} })
	})
}

// table makes a temporary table.
func (sc *scanRun) table(ctx context.Context, script string) error {
	if sc.set.store.db.Dialect() == rowdb.Postgres {
		script = strings.NewReplacer("BLOB", "bytea", "WITHOUT ROWID", "").Replace(script)
	}
	return sc.conn.Script(ctx, script)
}

// inTransaction runs the statements of f in one transaction, which writes only temporary
// tables.
func (sc *scanRun) inTransaction(ctx context.Context, f func() error) error {
	err := sc.conn.Script(ctx, "BEGIN")
	if err == nil {
		err = f()
	}
	if err == nil {
		err = sc.conn.Script(ctx, "COMMIT")
	}
	return err
}
