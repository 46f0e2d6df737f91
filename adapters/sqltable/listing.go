package sqltable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A Listing reads the rows of a table, view or query for a stored set, which compares them
// with its resources. So the changes of a table without a journal become known. It is a
// [scan.Origin]:
//
//	articles, err := mysqltable.List(ctx, db, table, &sqltable.ListingOptions{Triggers: "articles"})
//	set, err := scan.Into(ctx, store, "articles", articles, nil)
//
// If triggers record the changes in an [Outbox], it also applies each soon after its commit.
//
// A Listing needs no index in the order of bytes, unlike a [Set]. A table with such
// an index is read in pages. Anything else is read in one statement, and the database
// sorts it.
//
// A comparison sees an update only if it changes the entry of the resource, so the Table
// should name at least one column that changes with the content: LastModified, Length or
// a digest.
//
// A Listing is safe for concurrent use. Closing its database handle is up to the caller.
type Listing struct {
	p       *Set
	paged   bool
	log     *slog.Logger
	name    string                  // for people; may be empty
	listed  atomic.Int64            // by the reading that runs, or else the last one
	omitted atomic.Pointer[Omitted] // by the last complete reading

	set      scan.Stored // nil until Bind
	triggers string
	outbox   *Outbox                     // nil if there is none
	unseen   atomic.Pointer[UnseenError] // the last that was logged
	trouble  atomic.Pointer[error]       // of the last attempt to drain the outbox
	silent   atomic.Bool                 // the triggers that write the outbox are gone
}

// newListing returns the Listing of t in db, after checking that db can serve it.
func newListing(ctx context.Context, db engine.DB, t Table, o *ListingOptions) (*Listing, error) {
	if o == nil {
		o = &ListingOptions{}
	}
	l := &Listing{log: cmp.Or(o.Logger, slog.Default()), name: o.Name, triggers: o.Triggers}
	if err := l.open(ctx, db, &t); err != nil {
		return nil, fmt.Errorf("sqltable: %s: %w", t.title(), err)
	}
	l.p.omitted.log = o.Logger
	return l, nil
}

// ListingOptions configure a Listing. The zero value is a reasonable default.
type ListingOptions struct {
	// Triggers is the name of the set for which [Triggers].Create has created triggers that
	// record the changes in an outbox. If it is empty, or there are none, changes are found
	// by comparison.
	Triggers string

	// Name is the table for people, such as "table articles of mysql://db.example.org/cms".
	// The stored set records it, and does not accept a table with another name. If empty, it
	// accepts any table.
	Name string

	// Logger receives a warning for what cannot be published, and failures. If nil,
	// slog.Default() is used.
	Logger *slog.Logger
}

func (l *Listing) open(ctx context.Context, db engine.DB, t *Table) error {
	rel, err := describe(ctx, db, t)
	if err != nil {
		return err
	}
	if err := rel.Try(ctx, db); err != nil {
		return err
	}
	err = rel.checkUnique(ctx, db)
	if unfit, ok := errors.AsType[*FieldError](err); ok {
		unfit.Err = fmt.Errorf("%w; if several columns together identify a row, create a view in which one column joins them, and publish the view", unfit.Err)
	}
	if err != nil {
		return err
	}
	if rel.IsTable && db.CheckIndex(ctx, &rel.Relation) == nil {
		l.paged = true
	} else {
		rel.Order = db.ByBytes(&rel.Key)
	}
	l.p = &Set{db: db, rel: rel}
	return l.p.checkTimes(ctx)
}

// Resources yields all resources, in ascending byte order of their keys, under the
// contract of [resourcesync.Provider]. Rows that no document can list are left out, and so are
// lengths and times that none can state. [Listing.Omitted] counts both; the log names the
// first of each.
func (l *Listing) Resources(ctx context.Context) iter.Seq2[resourcesync.Resource, error] {
	all := l.p.Resources(ctx, resourcesync.Range{})
	if !l.paged {
		all = l.selected(ctx, "")
	}
	return func(yield func(resourcesync.Resource, error) bool) {
		l.checkUnseen(ctx)
		l.listed.Store(0)
		invalid := int64(0)
		for r, err := range all {
			if err == nil && l.skips(&r) {
				invalid++
				continue
			}
			l.listed.Add(1)
			if !yield(r, err) || err != nil {
				return
			}
		}
		n := l.p.omitted.sum()
		n.Rows += invalid
		l.omitted.Store(&n)
	}
}

// skips reports whether r cannot be published, and logs the first such row.
func (l *Listing) skips(r *resourcesync.Resource) bool {
	err := changes.Check(r)
	if err != nil {
		l.p.omitted.note(l.p.rel.title, true, err)
	}
	return err != nil
}

// Omitted counts what the last complete call of [Listing.Resources] has omitted.
func (l *Listing) Omitted() Omitted {
	if n := l.omitted.Load(); n != nil {
		return *n
	}
	return Omitted{}
}

func (l *Listing) count(ctx context.Context) (n int64, err error) {
	err = l.p.db.Query(ctx, "SELECT count(*) FROM "+l.p.rel.From+engine.Where(l.p.rel.Filter), func(row rowdb.Row) error {
		n = row.Int(0)
		return nil
	})
	return n, l.p.fail("count", err)
}

// lookup is the number of keys that one statement looks up.
const lookup = 200

// Part returns the ranges of these keys, and the resources that exist there now, under
// the contract of [resourcesync.Provider]. keys must be keys of current or former resources
// of the table, in ascending order. Stores replace the contents of the ranges.
func (l *Listing) Part(ctx context.Context, keys []string) ([]resourcesync.Range, iter.Seq2[resourcesync.Resource, error]) {
	ranges := make([]resourcesync.Range, len(keys))
	for i, key := range keys {
		ranges[i] = resourcesync.Range{From: key, To: key + "\x00"}
	}
	return ranges, func(yield func(resourcesync.Resource, error) bool) {
		for some := range slices.Chunk(keys, lookup) {
			args := make([]any, len(some))
			marks := make([]string, len(some))
			for i, key := range some {
				args[i], marks[i] = l.p.rel.key().argument(key), l.p.db.Parameter(i+1, l.p.rel.Key.Kind)
			}
			for r, err := range l.selected(ctx, l.p.rel.Key.Ref+" IN ("+strings.Join(marks, ", ")+")", args...) {
				if err == nil {
					// The database may consider different texts equal.
					if _, found := slices.BinarySearch(some, r.Key); !found || l.skips(&r) {
						continue
					}
				}
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// selected yields the resources that meet a condition, by one statement.
func (l *Listing) selected(ctx context.Context, condition string, args ...any) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		rel := l.p.rel
		d := newReader(rel, func(row bool, err error) { l.p.omitted.note(rel.title, row, err) })
		err := l.p.db.Query(ctx, "SELECT "+rel.List+" FROM "+rel.From+engine.Where(condition, rel.Filter)+" ORDER BY "+l.p.db.ByBytes(&rel.Key), func(row rowdb.Row) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if ok, err := d.read(row); err != nil || !ok {
				return err
			}
			if !yield(d.resource, nil) {
				return rowdb.ErrStop
			}
			return nil
		}, args...)
		switch {
		case err == nil && condition == "":
			l.p.omitted.add(resourcesync.Range{}, d.omitted)
		case err != nil && err != rowdb.ErrStop:
			yield(resourcesync.Resource{}, l.p.fail("resources", err))
		}
	}
}
