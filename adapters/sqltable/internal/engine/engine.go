// Package engine is the interface between package sqltable and its engines. The
// engines are packages of their own, pgtable, sqlitetable and mysqltable, so that a
// program links only the driver that it uses.
package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A DB is a database and its dialect of SQL. All methods are safe for concurrent
// use.
type DB interface {
	// Query calls each with every row of a statement's result.
	Query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error

	// QueryInOrder is Query for rows of a table in the order of its key. The engine
	// reads them by the index, whatever its statistics of the table.
	QueryInOrder(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error

	// Parameter returns the n-th parameter, counted from 1, as a value of kind k.
	Parameter(n int, k Kind) string

	// Quote quotes an identifier.
	Quote(name string) string

	// Find looks up the table, view or query that rel names, and sets its Schema,
	// From, Qualified, IsTable, Columns and Key.NUL.
	Find(ctx context.Context, rel *Relation) error

	// CheckUnique returns an error if keys of rel may be NULL or occur twice.
	CheckUnique(ctx context.Context, rel *Relation) error

	// CheckIndex returns an error if rel cannot be read in the order of its keys, and
	// adds to rel.Order what the engine needs to do so.
	CheckIndex(ctx context.Context, rel *Relation) error

	// IsLive returns the condition that a column marks no deletion.
	IsLive(c *Column) string
}

// A Kind is the kind of value in a column, as far as we read it.
type Kind int

// The kinds.
const (
	Other   Kind = iota
	Integer      // read by rowdb.Row.Int
	Text         // ordered by its bytes, if the collation is
	Label        // text in another order, such as an enumeration
	Binary       // bytes
	UUID         // 16 bytes
	Boolean      // read by rowdb.Row.Int
	Instant      // a time, in microseconds since Epoch
	Date         // a day, in days since Epoch
	Dynamic      // of the kind that SQLite decides for each value
)

// Epoch is the time from which PostgreSQL counts, in microseconds since 1970. The
// other engines are asked for times since then, too.
var Epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// Digits is the number of digits in the key of an integer.
const Digits = 19

// A Column is a column of a table, view or query.
type Column struct {
	Name     string
	Kind     Kind
	Type     string // the engine's name for it
	Nullable bool
	Ref      string // the column in a statement
	Read     string // the expression that reads it, if not Ref
}

// ReadRef returns the column as it is listed in a SELECT.
func (c *Column) ReadRef() string { return cmp.Or(c.Read, c.Ref) }

// A Key is the key column.
type Key struct {
	Column
	NUL bool // text may contain NUL, and bytes that are not UTF-8
}
