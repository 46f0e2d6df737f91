// Package sqltable makes a [resourcesync.Provider] of an existing table or view. A
// [Table] names the column of each field. Nothing is copied or written. Packages pgtable,
// sqlitetable and mysqltable open tables, each with the driver of its engine:
//
//	articles, err := pgtable.Open(ctx, pool, sqltable.Table{
//		Name:         "articles",
//		Key:          "id",
//		URI:          "https://example.org/articles/{id}",
//		LastModified: "updated_at",
//	})
//
// # Keys
//
// A [Set] yields rows in byte order of their keys. The index that serves this order
// must sort by bytes, too. Columns of these types can be keys:
//
//   - signed integers of up to 64 bits. The key of a resource is the number in 19 digits,
//     0000000000000000042. The key of a negative number is a minus sign and its distance
//     from the smallest 64-bit integer, so that keys sort as the numbers do.
//   - uuid in PostgreSQL, in its usual text form.
//   - bytea, BLOB, BINARY and VARBINARY.
//   - text with an index in the order of bytes: COLLATE "C" in PostgreSQL, BINARY in
//     SQLite (the default there), utf8mb4_nopad_bin in MariaDB and utf8mb4_0900_bin
//     in MySQL.
//
// The key must be unique, never NULL, not empty, and no longer than
// [resourcesync.MaxKeyLength]. Opening a table checks this as far as the database can
// tell, and the errors say what to do. The database knows little about views and
// queries; there, a key that occurs twice or out of order is an error when it is read.
//
// # Reading
//
// Methods read with single statements, without transactions. Each page, up to 50,000
// resources, is one statement. In any isolation level, it shows one state: the rows that
// were committed before it began. OFFSET is used only while a set is divided, within one
// page. A longer walk takes several statements and holds no transaction
// between them; a resource that exists throughout is yielded once.
//
// # Changes
//
// A table does not remember its changes. [Set.Journal] creates triggers, in
// PostgreSQL or SQLite, that record changes in a store of package sqlstore. Change Lists
// are made from that journal:
//
//	papers, err := table.Journal(ctx, store, "papers", nil)
//	src, err := rshttp.New(base, []rshttp.Set{{Provider: papers}}, &rshttp.Options{Store: store})
//
// [Triggers] returns the SQL for an administrator to apply. The journal is also the
// Stater: it reports when the table has changed, so all changes of the table must be
// journalled. A host that has triggers of its own, or calls sqlstore.Journal.Record, sets
// the journal beside the table, and sets Stater to the result of [Set.Stater] if the
// journal does not have all changes:
//
//	rshttp.Set{Provider: table, Changer: journal}
//
// A table of MariaDB or MySQL, a view, and a table without triggers are compared with a
// stored set, from time to time or when something has changed: see [Listing] and [Outbox].
//
// Without any Stater nothing is cached, every request reads the table, and the lists have
// no at attribute. Source.Run of package rshttp runs the store.
package sqltable

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A Set is a table, view or query as a set of resources: a [resourcesync.Provider]. It is
// safe for concurrent use.
type Set struct {
	db  engine.DB
	rel *relation

	journalled map[string]string // URI templates of triggers; see CheckChanger

	firstSite atomic.Pointer[string] // see Covers

	omitted omissions
}

var (
	_ resourcesync.Provider = (*Set)(nil)
	_ resourcesync.Cutter   = (*Set)(nil)
	_ resourcesync.Coverer  = (*Set)(nil)
)

// newSet returns the Set of t in db, after checking that db can serve it.
func newSet(ctx context.Context, db engine.DB, t Table) (*Set, error) {
	rel, err := describe(ctx, db, &t)
	if err == nil {
		err = rel.Try(ctx, db)
	}
	if err == nil {
		err = db.CheckIndex(ctx, &rel.Relation)
	}
	p := &Set{db: db, rel: rel}
	if err == nil {
		err = p.checkTimes(ctx)
	}
	if err == nil {
		p.journalled, err = journalledURIs(ctx, db, rel)
	}
	if err != nil {
		return nil, fmt.Errorf("sqltable: %s: %w", t.title(), err)
	}
	return p, nil
}

// chunk is the maximum number of rows that a statement reads. No page has more.
const chunk = rsxml.MaxEntries

// Close closes the database if sqlitetable.OpenFile has opened it for the Set. The other
// functions take a database handle, which the caller closes.
func (p *Set) Close() error {
	if c, ok := p.db.(engine.Closer); ok {
		return p.fail("close", c.Close())
	}
	return nil
}

// Resources implements [resourcesync.Provider].
func (p *Set) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		// Omitted rows are counted by reading them.
		d := newReader(p.rel, func(row bool, err error) { p.omitted.note(p.rel.title, row, err) })
		b := p.rel.key().bounds(r)
		for last := ""; !b.none; last = string(d.key) {
			n := 0
			each := func(row rowdb.Row) error {
				if err := ctx.Err(); err != nil {
					return err
				}
				n++
				if ok, err := d.read(row); err != nil || !ok {
					return err
				}
				if !yield(d.resource, nil) {
					return rowdb.ErrStop
				}
				return nil
			}
			inside, args := p.between(b)
			err := p.inOrder(ctx, fmt.Sprintf("SELECT %s FROM %s%s ORDER BY %s LIMIT %d",
				p.rel.List, p.rel.From, engine.Where(inside, p.rel.Filter), p.rel.Order, chunk), each, args...)
			if err == rowdb.ErrStop {
				return
			}
			if err != nil {
				yield(resourcesync.Resource{}, p.fail("resources", err))
				return
			}
			if n < chunk || string(d.key) == last { // the rest are integers that are too large
				p.omitted.add(r, d.omitted)
				return
			}
			b.after(p.rel.key().argument(string(d.key)))
		}
	}
}

// inOrder runs a statement that reads rows in the order of the key. The planner is free
// to choose how to read a view or a query.
func (p *Set) inOrder(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	if p.rel.IsTable {
		return p.db.QueryInOrder(ctx, sql, each, args...)
	}
	return p.db.Query(ctx, sql, each, args...)
}

// within returns the condition that a row's key is in b and fits into a document, and its
// arguments.
func (p *Set) within(b bounds) (condition string, args []any) {
	condition, args = p.between(b)
	return engine.And(condition, p.rel.fits), args
}

// between returns the condition that a row's key is in b, and its arguments.
func (p *Set) between(b bounds) (condition string, args []any) {
	for _, e := range []bound{b.from, b.to} {
		if e.operator != "" {
			args = append(args, e.value)
			condition = engine.And(condition, p.rel.Order+" "+e.operator+" "+p.db.Parameter(len(args), p.rel.Key.Kind))
		}
	}
	return condition, args
}

func (p *Set) fail(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqltable: %s: %s: %w", p.rel.title, what, err)
}
