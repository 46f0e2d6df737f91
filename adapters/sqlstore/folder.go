package sqlstore

import (
	"context"
	"iter"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// firstOf reads the first resources of a range. Unlike the statement of
// [Set.Resources] it has a limit, because PostgreSQL sends all
// rows of a statement, whether or not they are read.
const firstOf = "SELECT key, body FROM rs_resource WHERE set_id = $1 AND key >= $2 AND key < $3 AND body IS NOT NULL ORDER BY key LIMIT $4"

// afterFolder is the number of rows that the next statement reads after one that ended
// in a subfolder. The number doubles while statements end elsewhere.
const afterFolder = 16

// First yields the first n resources whose keys are in r, with one statement, under the
// contract of [resourcesync.Provider]. It reads no others.
func (s *Set) First(ctx context.Context, r resourcesync.Range, n int) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		err := s.snapshot(ctx, func(c rowdb.Conn) error {
			if err := s.checkReady(ctx, c); err != nil {
				return err
			}
			return s.first(ctx, c, r, n, func(found resourcesync.Resource) error {
				if !yield(found, nil) {
					return rowdb.ErrStop
				}
				n, r.From = n-1, found.Key+"\x00" // if a standby fails, the rest is read
				return nil
			})
		})
		if err != nil && err != rowdb.ErrStop {
			yield(resourcesync.Resource{}, s.fail("first", err))
		}
	}
}

func (s *Set) first(ctx context.Context, c rowdb.Conn, r resourcesync.Range, n int, each func(resourcesync.Resource) error) error {
	var d reader
	return c.Query(ctx, firstOf, func(row rowdb.Row) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		found, err := d.read(row, 0, 1)
		if err != nil {
			return damagedRow(err, "rs_resource", d.buf[:d.key])
		}
		return each(found)
	}, s.id, []byte(r.From), endOf(r), n)
}

// Folder returns the first n entries of a folder, in ascending order: the resources
// directly in it whose keys are in r, and for each subfolder with such resources a Resource
// with only a Key, which ends in a slash. folder is empty, or a prefix of keys that ends in
// a slash. All entries belong to one state.
//
// The cost depends on n, not on the number of resources: the contents of subfolders are
// skipped.
func (s *Set) Folder(ctx context.Context, folder string, r resourcesync.Range, n int) ([]resourcesync.Resource, error) {
	r.From = max(r.From, folder)
	if folder != "" && (r.To == "" || r.To > after(folder)) {
		r.To = after(folder)
	}
	var entries []resourcesync.Resource
	whole := r
	err := s.snapshot(ctx, func(c rowdb.Conn) error {
		entries, r = nil, whole
		if err := s.checkReady(ctx, c); err != nil {
			return err
		}
		for limit := n; len(entries) < n; {
			rows, skipped := 0, false
			err := s.first(ctx, c, r, limit, func(found resourcesync.Resource) error {
				rows++
				if skipped = found.Key < r.From; skipped || len(entries) == n {
					return nil // the rows are few, and reading them is cheaper than stopping
				}
				name, _, isFolder := strings.Cut(found.Key[len(folder):], "/")
				if isFolder {
					found = resourcesync.Resource{Key: folder + name + "/"}
					r.From = after(found.Key)
				}
				entries = append(entries, found)
				return nil
			})
			if err != nil || rows < limit {
				return err
			}
			if last := entries[len(entries)-1].Key; !strings.HasSuffix(last, "/") {
				r.From = last + "\x00"
			}
			if limit = min(2*limit, n); skipped {
				limit = min(afterFolder, n)
			}
		}
		return nil
	})
	return entries, s.fail("folder", err)
}

// after returns the end of the range of the keys that begin with folder, which ends in a
// slash: the next byte after a slash is 0.
func after(folder string) string { return folder[:len(folder)-1] + "0" }
