package sqlstore

import (
	"context"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// runKeys is the number of keys whose rows are read at once.
const runKeys = 100

// A keyRun is a run of sorted keys. If there are more than twice as many rows between
// its ends, the keys are not close to each other, and each of the rest is looked up.
type keyRun struct {
	keys []int // the positions of the keys
	most int   // rows to read
	rows int   // rows that have been read
}

// readRows calls each with the rows of rs_resource that have these keys: the columns key,
// newest, size, place and body of the row of keys[i], in any order. It is fast if many of
// the keys are close to each other in the set.
func readRows(ctx context.Context, c rowdb.Conn, set int64, keys []string, each func(i int, row rowdb.Row) error) error {
	const columns = "SELECT key, newest, size, place, body FROM rs_resource WHERE set_id = $1 AND key "
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	if !slices.IsSorted(keys) {
		slices.SortFunc(order, func(a, b int) int { return strings.Compare(keys[a], keys[b]) })
	}
	var runs []keyRun
	for part := range slices.Chunk(order, runKeys) {
		runs = append(runs, keyRun{keys: part, most: 2 * len(part)})
	}
	var key []byte
	err := c.QueryEach(ctx, columns+">= $2 AND key <= $3 ORDER BY key LIMIT $4", len(runs),
		func(i int) []any {
			r := &runs[i]
			return []any{set, []byte(keys[r.keys[0]]), []byte(keys[r.keys[len(r.keys)-1]]), r.most}
		},
		func(i int, row rowdb.Row) error {
			r := &runs[i]
			r.rows++
			key = row.Append(key[:0], 0)
			for len(r.keys) > 0 && keys[r.keys[0]] <= string(key) {
				if keys[r.keys[0]] == string(key) {
					if err := each(r.keys[0], row); err != nil {
						return err
					}
				}
				r.keys = r.keys[1:]
			}
			return nil
		})
	if err != nil {
		return err
	}
	var rest []int
	for _, r := range runs {
		if r.rows == r.most {
			rest = append(rest, r.keys...)
		}
	}
	return c.QueryEach(ctx, columns+"= $2", len(rest),
		func(i int) []any { return []any{set, []byte(keys[rest[i]])} },
		func(i int, row rowdb.Row) error { return each(rest[i], row) })
}
