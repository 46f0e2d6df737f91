package sqlstore

import (
	"context"
	"maps"
	"slices"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// The rows of a set are divided into blocks of up to some hundreds, and the store keeps
// the sums of each block. The state of any range of keys, such as a page, is the sum of
// the blocks in it and of the rows at its two ends. Pages are cut by reading the sums.
// Blocks are internal: dividing and joining them changes nothing that is published.
const (
	maxBlock  = 256 // a block with more rows is divided
	fullBlock = 128 // rows in each part of a divided block
	minBlock  = 16  // a block with fewer rows is joined to the one before it
)

// A block is a row of rs_block.
type block struct {
	lo                         []byte
	rows, count, bytes, newest int64
}

func (b *block) read(row rowdb.Row) {
	*b = block{row.Append([]byte{}, 0), row.Int(1), row.Int(2), row.Int(3), row.Int(4)}
}

// add adds r to b's sums if sign is 1, and subtracts it if sign is -1.
func (b *block) add(r row, sign int64) {
	if r.exists {
		b.rows += sign
	}
	if r.live {
		b.count += sign
		b.bytes += sign * r.size
	}
}

// join adds the sums of o.
func (b *block) join(o *block) {
	b.rows += o.rows
	b.count += o.count
	b.bytes += o.bytes
	b.newest = max(b.newest, o.newest)
}

const blockColumns = "lo, rows, count, bytes, newest"

// updateBlocks adds the new rows of these keys, which are in order, to their blocks.
func (b *changeBatch) updateBlocks(ctx context.Context, keys []string, after map[string]row) error {
	touched := map[string]*block{}
	err := b.blocksOf(ctx, keys, func(key string, found *block) {
		in := touched[string(found.lo)]
		if in == nil {
			in = found
			touched[string(found.lo)] = in
		}
		in.add(b.rows[key], -1)
		in.add(after[key], +1)
		in.newest = max(in.newest, after[key].newest)
	})
	if err != nil {
		return err
	}
	blocks := slices.Collect(maps.Values(touched))
	err = saveBlocks(ctx, b.conn, b.set.id, blocks...)
	for _, full := range blocks {
		if err == nil && full.rows > maxBlock {
			err = divideBlock(ctx, b.conn, b.set.id, full.lo)
		}
	}
	return err
}

// blocksOf calls each with the block of every key. The keys are in order.
func (b *changeBatch) blocksOf(ctx context.Context, keys []string, each func(key string, in *block)) error {
	if len(keys) == 0 {
		return nil
	}
	// The blocks of keys that are close to each other are read at once.
	most := 2 * len(keys)
	var near []*block
	read := func(row rowdb.Row) error {
		found := new(block)
		found.read(row)
		near = append(near, found)
		return nil
	}
	err := b.conn.Query(ctx, "SELECT "+blockColumns+` FROM rs_block WHERE set_id = $1 AND lo >=
			(SELECT lo FROM rs_block WHERE set_id = $1 AND lo <= $2 ORDER BY lo DESC LIMIT 1)
		AND lo <= $3 ORDER BY lo LIMIT $4`,
		read, b.set.id, []byte(keys[0]), []byte(keys[len(keys)-1]), most)
	if err != nil {
		return err
	}
	if len(near) < most {
		for i := 0; len(keys) > 0; keys = keys[1:] {
			for i+1 < len(near) && string(near[i+1].lo) <= keys[0] {
				i++
			}
			each(keys[0], near[i])
		}
		return nil
	}
	return b.conn.QueryEach(ctx, "SELECT "+blockColumns+" FROM rs_block WHERE set_id = $1 AND lo <= $2 ORDER BY lo DESC LIMIT 1", len(keys),
		func(i int) []any { return []any{b.set.id, []byte(keys[i])} },
		func(i int, row rowdb.Row) error {
			var found block
			found.read(row)
			each(keys[i], &found)
			return nil
		})
}

func saveBlocks(ctx context.Context, c rowdb.Conn, set int64, blocks ...*block) error {
	return c.ExecEach(ctx, "UPDATE rs_block SET rows = $1, count = $2, bytes = $3, newest = $4 WHERE set_id = $5 AND lo = $6", len(blocks),
		func(i int) []any {
			b := blocks[i]
			return []any{b.rows, b.count, b.bytes, b.newest, set, b.lo}
		})
}

// divideBlock divides the block that begins at lo by its current rows. It only measures
// a block that has become small enough, and joins a very small one to the one before
// it.
func divideBlock(ctx context.Context, c rowdb.Conn, set int64, lo []byte) error {
	parts, err := measureBlock(ctx, c, set, lo)
	if err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "DELETE FROM rs_block WHERE set_id = $1 AND lo = $2", set, lo); err != nil {
		return err
	}
	if len(parts) == 1 && parts[0].rows <= minBlock {
		var before block
		err := c.Query(ctx, "SELECT "+blockColumns+" FROM rs_block WHERE set_id = $1 AND lo < $2 ORDER BY lo DESC LIMIT 1",
			func(row rowdb.Row) error { before.read(row); return nil }, set, lo)
		if err != nil {
			return err
		}
		if before.lo != nil && before.rows <= fullBlock {
			before.join(&parts[0])
			return saveBlocks(ctx, c, set, &before)
		}
	}
	return c.ExecEach(ctx, "INSERT INTO rs_block (set_id, lo, rows, count, bytes, newest) VALUES ($1, $2, $3, $4, $5, $6)", len(parts),
		func(i int) []any {
			b := &parts[i]
			return []any{set, b.lo, b.rows, b.count, b.bytes, b.newest}
		})
}

// measureBlock returns the parts of the block that begins at lo.
func measureBlock(ctx context.Context, c rowdb.Conn, set int64, lo []byte) (parts []block, err error) {
	next := beyond
	err = c.Query(ctx, "SELECT lo FROM rs_block WHERE set_id = $1 AND lo > $2 ORDER BY lo LIMIT 1",
		func(row rowdb.Row) error { next = row.Append([]byte{}, 0); return nil }, set, lo)
	if err != nil {
		return nil, err
	}
	if len(lo) == 0 {
		// The first block stays, even if it is empty.
		parts = append(parts, block{lo: []byte{}})
	}
	each := func(row rowdb.Row) error {
		n := len(parts)
		if n == 0 || parts[n-1].rows == fullBlock {
			parts = append(parts, block{lo: row.Append(nil, 0)})
			if n == 0 {
				parts[0].lo = lo
			}
			n++
		}
		b := &parts[n-1]
		b.rows++
		b.newest = max(b.newest, row.Int(1))
		if !row.Null(3) {
			b.count++
			b.bytes += row.Int(2)
		}
		return nil
	}
	err = c.Query(ctx, sizesOf, each, set, lo, next)
	return parts, err
}
