// Package engine is the interface between package sqltable and its engines. The
// engines are separate packages, pgtable, sqlitetable and mysqltable, so that a program
// links only the driver that it uses.
package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// The constructors of package sqltable, which sets them. Only the packages of the engines call
// them, so that an application meets no DB. table is a sqltable.Table and options a
// *sqltable.ListingOptions, which may be nil. They return a *sqltable.Set, a
// *sqltable.Listing and a *sqltable.Triggers.
var (
	Open     func(ctx context.Context, db DB, table any) (any, error)
	List     func(ctx context.Context, db DB, table, options any) (any, error)
	Triggers func(db TriggerDB) any
)

// A Closer is a DB that may own its handle. Close closes the handle if it does.
type Closer interface {
	Close() error
}

// A DB is a database and its dialect of SQL. All methods are safe for concurrent
// use.
type DB interface {
	// Query calls each with every row of a statement's result.
	Query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error

	// QueryInOrder is like Query, for rows of a table in the order of its key. The
	// engine reads them by the index, with any statistics of the table.
	QueryInOrder(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error

	// Parameter returns the n-th parameter, counted from 1, as a value of kind k.
	Parameter(n int, k Kind) string

	// Quote quotes an identifier.
	Quote(name string) string

	// Find looks up the table, view or query that rel names, and sets its Schema,
	// From, Qualified, IsTable, Columns and Key.NUL. It returns a [*TableError] if there is no
	// such table.
	Find(ctx context.Context, rel *Relation) error

	// CheckUnique returns a [*KeyError] if keys of rel may be NULL or occur twice.
	CheckUnique(ctx context.Context, rel *Relation) error

	// CheckIndex returns an error if rel cannot be read in the order of its keys, and
	// adds to rel.Order what the engine needs to do so.
	CheckIndex(ctx context.Context, rel *Relation) error

	// ByBytes returns the expression that sorts the key by bytes, with or without an index.
	ByBytes(k *Key) string

	// Fits returns the condition that a key is not longer than most bytes, and can be read; ""
	// if it always is.
	Fits(k *Key, most int) string

	// LengthRef returns the expression that reads a column as a length. A value that is not a
	// number is read as the largest integer, which is not a valid length.
	LengthRef(c *Column) string

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

// Epoch is the time from which PostgreSQL counts, in microseconds since 1970.
// Statements for the other engines read times since then, too.
var Epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// The first and the last second that a document can state, in Unix time: the years 0000 to
// 9999.
const (
	FirstTime = -62_167_219_200
	LastTime  = 253_402_300_799
)

// Digits is the number of digits in the key of an integer.
const Digits = 19

// A Column is a column of a table, view or query.
type Column struct {
	Name     string
	Kind     Kind
	Type     string // the engine's name for it
	Nullable bool
	Unsigned bool   // an integer that may be beyond the range of an int64
	Ref      string // the column in a statement
	Read     string // the expression that reads it, if not Ref
}

// ReadRef returns the expression that selects the column.
func (c *Column) ReadRef() string { return cmp.Or(c.Read, c.Ref) }

// A Key is the key column.
type Key struct {
	Column
	NUL bool // text may contain NUL, and bytes that are not UTF-8
}

// A Relation is the table, view or query that resources are read from.
type Relation struct {
	// Schema, Name, Query and Where are copied from the sqltable.Table. Find sets Schema if it is
	// empty.
	Schema, Name, Query, Where string

	Alias     string // quoted
	From      string // in a statement
	Qualified string // the name of the table, qualified and quoted; "" for a query
	IsTable   bool   // no view or query, so its indexes are known
	Columns   []Column
	Key       Key // before Find, only its Name

	Order  string // the expression that compares the key
	List   string // the columns that are selected to read a resource
	Filter string // the condition that a row is in the set
}

// Try returns an error if the statements that read rel do not work; the likely cause
// is Where.
func (rel *Relation) Try(ctx context.Context, db DB) error {
	err := db.Query(ctx, "SELECT "+rel.List+" FROM "+rel.From+Where(rel.Filter)+" LIMIT 0", func(rowdb.Row) error { return nil })
	if err != nil && rel.Where != "" {
		err = fmt.Errorf("it cannot be read; perhaps because of the condition %q: %w", rel.Where, err)
	}
	return err
}

// UnsortedError returns the error for a view or query that would be sorted again for
// every page. collation is the COLLATE clause of an index in the order of bytes.
func (rel *Relation) UnsortedError(collation string) error {
	return fmt.Errorf("no index has the order of its key %q: if the key is a column of a table, create a unique index on it (column%s); if the view or query computes it, use a column of a table as the Key instead",
		rel.Key.Name, collation)
}

// And joins the conditions that are not empty.
func And(conditions ...string) string {
	return strings.Join(slices.DeleteFunc(conditions, func(c string) bool { return c == "" }), " AND ")
}

// Where returns the WHERE clause of conditions, "" if all are empty.
func Where(conditions ...string) string {
	if all := And(conditions...); all != "" {
		return " WHERE " + all
	}
	return ""
}

// A TriggerDB is a DB with triggers.
type TriggerDB interface {
	DB

	// CreateTriggers returns the statements that create the triggers of j.
	CreateTriggers(ctx context.Context, j *Journalled) ([]string, error)

	// DropTriggers returns the statements that drop the triggers on rel whose names
	// begin with base, and what they write to.
	DropTriggers(rel *Relation, base string) []string

	// Apply runs statements in one transaction, if the engine can.
	Apply(ctx context.Context, statements []string) error

	// TriggersOn calls each with the name and the SQL of each trigger that journals
	// rows of rel, or of its function.
	TriggersOn(ctx context.Context, rel *Relation, each func(name, sql string)) error
}

// An OutboxDB is a TriggerDB whose triggers write the keys of changed rows to an outbox:
// a table with the columns id and row_key.
type OutboxDB interface {
	TriggerDB

	// Outbox returns the qualified name of the outbox for rel.
	Outbox(rel *Relation, base string) string

	// OutboxTemplate returns the URI template for which an outbox was created; "" if there
	// is no such table, or it has no template.
	OutboxTemplate(ctx context.Context, rel *Relation, base string) (string, error)

	// Waiting returns the time at which the first change in an outbox was recorded; the zero
	// time if there is none, or the outbox does not have its time. hidden is true if the
	// role may not read the outbox, or even know whether it exists.
	Waiting(ctx context.Context, outbox string) (since time.Time, hidden bool, err error)

	// Remove removes the rows with these ids from an outbox. It locks no other rows.
	Remove(ctx context.Context, outbox string, ids []int64) error
}

// A JournalDB is a TriggerDB whose triggers write the journal of a store in the same
// database.
type JournalDB interface {
	TriggerDB

	// Store returns the prefix of the names of the store's tables.
	Store() string

	// Signs returns what shows, as q sees it, that the triggers of j have been there all
	// the time. It reads a few rows of the catalog.
	Signs(ctx context.Context, q rowdb.Querier, j *Journalled) (*Signs, error)

	// Update runs f in a transaction in which no change is numbered.
	Update(ctx context.Context, f func(rowdb.Conn) error) error

	// Lock keeps all others from writing to the table of rel until the transaction of c
	// ends. It waits for writers for some seconds, and fails then.
	Lock(ctx context.Context, c rowdb.Conn, rel *Relation) error

	// The SQL expressions that compute what a resource says.
	Literal(s string) string
	KeyExpr(k *Key) string                        // bytes
	TextExpr(c *Column) string                    // of a value in a URI
	EscapeExpr(c *Column) string                  // percent-encoded
	MicrosExpr(c *Column, perSecond int64) string // a time since 1970
	HexExpr(c *Column) string
	LowerExpr(c *Column) string
}

// Journalled is a table for which triggers are written.
type Journalled struct {
	*Relation
	Base string // the names of all objects begin with it
	URI  string // the template

	Listed  []*Column
	Others  []*Column // the columns of URIs other than the key
	Content bool      // Listed has columns that are neither of the key nor of the URI

	// The rest is for a JournalDB.

	Mark  string // the line of a trigger that names the URI template
	Stamp string // of the statements; in the text of each trigger and function

	// In SQL, of a row.
	SetName string
	KeyExpr string
	URIExpr string

	// The optional columns of rs_pending, and their values. Both begin with a comma, unless
	// there are none.
	Columns string
	Values  string
}

// Mentioned reports whether the Where of j may mention a column.
func (j *Journalled) Mentioned(c *Column) bool {
	where, name := strings.ToLower(j.Where), strings.ToLower(c.Name)
	return strings.Contains(where, name) || strings.Contains(where, strings.ReplaceAll(name, `"`, `""`)) ||
		strings.Contains(where, strings.ReplaceAll(name, "`", "``"))
}

// Fill replaces {name} in text by values[name], but not in the values themselves.
func Fill(text string, values map[string]string) string {
	var pairs []string
	for name, value := range values {
		pairs = append(pairs, "{"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// A TableError means that no table or view has the given name.
type TableError struct{ Where string } // such as "in database x", or ""

// Error implements error.
func (e *TableError) Error() string {
	return strings.TrimSuffix("there is no such table or view "+e.Where, " ")
}

// A KeyError means that a column cannot be a key.
type KeyError struct{ text string }

// Error implements error.
func (e *KeyError) Error() string { return e.text }

// KeyErrorf returns a [*KeyError] with a formatted text.
func KeyErrorf(format string, args ...any) error { return &KeyError{fmt.Sprintf(format, args...)} }
