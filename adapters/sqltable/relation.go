package sqltable

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// An engine is a database and its way of speaking SQL.
type engine interface {
	// query calls each with every row of a statement's result.
	query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error

	// queryInOrder is query for rows of a table in the order of its key. The engine
	// reads them by the index, whatever its statistics of the table.
	queryInOrder(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error

	// parameter is how the n-th parameter is written, from 1, as a value of
	// a kind.
	parameter(n int, k kind) string

	quote(name string) string

	// find fills in what there is to know of the table, view or query.
	find(ctx context.Context, t *Table, rel *relation) error

	// checkUnique reports that the keys of rel may be NULL, or come twice.
	checkUnique(ctx context.Context, rel *relation) error

	// checkIndex reports that rel cannot be read in the order of its keys,
	// and otherwise sets how that is told to the engine.
	checkIndex(ctx context.Context, rel *relation) error

	// isLive is the condition that a column marks no deletion.
	isLive(c *column) string
}

// A kind is what a column holds, as far as we read it.
type kind int

const (
	other   kind = iota
	integer      // rowdb.Row has it as an integer
	text         // ordered by its bytes, if the collation is of that sort
	label        // text that has another order, such as an enumeration
	binary       // bytes
	uuid         // 16 bytes
	boolean      // rowdb.Row has it as an integer
	instant      // a time; rowdb.Row has it in microseconds from the engine's epoch
	date         // a day; rowdb.Row has it in days from the engine's epoch
	dynamic      // what SQLite decides for each value
)

// A column is a column of a table, view or query.
type column struct {
	name     string
	kind     kind
	is       string // its type, in the engine's words
	nullable bool
	ref      string // the column in a statement
	read     string // the column where it is read, if it is not just ref
}

// readRef is the column in the list of a SELECT.
func (c *column) readRef() string { return cmp.Or(c.read, c.ref) }

// A relation is what a Table is about, as the database has it.
type relation struct {
	Table
	title    string
	from     string // in a statement
	alias    string // quoted
	name     string // of the table, qualified and quoted; "" of a query
	isTable  bool   // and not a view or a query: its indexes are known
	columns  []column
	key      key
	template *template
	request  *regexp.Regexp

	order  string // the key as it is compared
	live   string // condition that a row is not deleted softly
	member string // condition that a row is of the set, or deleted from it
	filter string // condition that a row is of the set
	list   string // what is selected to read a resource
	fields fields
}

// fields are the places in a row of list; -1 of what is not there. The key is the
// first.
type fields struct {
	values       []field // of the template's variables
	lastModified field
	length       field
	mediaType    field
	hashes       []hashField // by algorithm
}

type field struct {
	*column
	at int
}

type hashField struct {
	field
	algorithm string // "" if the values say
}

// describe looks up what t is about.
func describe(ctx context.Context, db engine, t *Table) (*relation, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	tmpl, err := parseTemplate(t.URI)
	if err != nil {
		return nil, err
	}
	rel := &relation{Table: *t, alias: db.quote(t.alias()), title: t.title(), template: tmpl, request: tmpl.request()}
	if err := db.find(ctx, t, rel); err != nil {
		return nil, err
	}
	for i := range rel.columns {
		c := &rel.columns[i]
		c.ref = rel.alias + "." + db.quote(c.name)
	}
	k, err := rel.column("Key", t.Key, integer, text, binary, uuid)
	if err != nil {
		return nil, fmt.Errorf("%w; the key must be of a type whose order is known: integer, text, bytes or (in PostgreSQL) uuid", err)
	}
	rel.key.column = *k
	rel.order = k.ref
	if err := rel.findFields(); err != nil {
		return nil, err
	}
	if err := rel.conditions(db); err != nil {
		return nil, err
	}
	return rel, nil
}

// try reports that the statements that read rel do not work, because of Where if
// of anything.
func (rel *relation) try(ctx context.Context, db engine) error {
	err := db.query(ctx, "SELECT "+rel.list+" FROM "+rel.from+where(rel.filter)+" LIMIT 0", func(rowdb.Row) error { return nil })
	if err != nil && rel.Where != "" {
		err = fmt.Errorf("it cannot be read; perhaps because of the condition %q: %w", rel.Where, err)
	}
	return err
}

// unsorted returns the error that a view or query is sorted anew for every page.
// collation is what makes an index one of bytes.
func (rel *relation) unsorted(collation string) error {
	return fmt.Errorf("no index gives it in the order of its key %q: if a table has that column, it needs a unique index (on the column%s); if the view or query computes it, name a column of a table as the Key instead",
		rel.Key, collation)
}

// timesTried is the number of rows whose LastModified is checked.
const timesTried = 1000

// checkTimes returns an error if LastModified is a column of text, or of SQLite's
// dynamic type, and one of its first rows has text that is not a time. Such a column
// may hold anything, and a title that happens to look like a time would be published
// as one. NULL and empty text state no time. A value of a later row that is not a
// time is omitted.
func (rel *relation) checkTimes(ctx context.Context, db engine) error {
	f := rel.fields.lastModified
	if f.at < 0 || f.kind != text && f.kind != label && f.kind != dynamic {
		return nil
	}
	read := newReader(rel)
	times, others, sample := 0, 0, ""
	err := db.query(ctx, fmt.Sprintf("SELECT %s FROM (SELECT * FROM %s LIMIT %d) AS %s%s", f.readRef(), rel.from, timesTried, rel.alias,
		where(rel.filter, f.ref+" IS NOT NULL")), func(row rowdb.Row) error {
		switch value := rowdb.String(row, 0); {
		case value == "":
		case !read.time(row, field{f.column, 0}).IsZero():
			times++
		default:
			if others == 0 {
				sample = value
			}
			others++
		}
		return nil
	})
	if err != nil || others == 0 {
		return err
	}
	advice := "name a column of times, of text like 2026-03-01T12:00:00Z, or of integers that count Units since 1970"
	if times > 0 {
		advice = "correct these values, set them to NULL, or " + advice
	}
	return fmt.Errorf("column %q cannot be LastModified: %d of its first %d values cannot be read as times, such as %.50q; %s", f.name, others, times+others, sample, advice)
}

// column finds the column that a field of Table names, which must be of one of
// some kinds.
func (rel *relation) column(field, name string, kinds ...kind) (*column, error) {
	i := slices.IndexFunc(rel.columns, func(c column) bool { return c.name == name })
	if i < 0 {
		var names []string
		for _, c := range rel.columns {
			names = append(names, c.name)
		}
		return nil, fmt.Errorf("there is no column %q for %s; there are %q", name, field, names)
	}
	c := &rel.columns[i]
	if !slices.Contains(kinds, c.kind) {
		return nil, fmt.Errorf("column %q is of type %s, which cannot be %s", name, c.is, field)
	}
	return c, nil
}

// findFields finds the columns of which resources are made.
func (rel *relation) findFields() error {
	var list []string
	add := func(name, column string, kinds ...kind) (field, error) {
		if column == "" {
			return field{at: -1}, nil
		}
		c, err := rel.column(name, column, kinds...)
		if err != nil {
			return field{}, err
		}
		read := c.readRef()
		at := slices.Index(list, read)
		if at < 0 {
			at = len(list)
			list = append(list, read)
		}
		return field{c, at}, nil
	}
	if _, err := add("Key", rel.Key, rel.key.kind); err != nil {
		return err
	}
	f := &rel.fields
	for _, v := range rel.template.variables {
		value, err := add("URI", v.column, integer, text, label, binary, uuid, dynamic)
		if err != nil {
			return err
		}
		f.values = append(f.values, value)
	}
	var err error
	if f.lastModified, err = add("LastModified", rel.LastModified, instant, date, integer, text, label, dynamic); err != nil {
		return err
	}
	if f.length, err = add("Length", rel.Length, integer, dynamic); err != nil {
		return err
	}
	if f.mediaType, err = add("Type", rel.Type, text, label, dynamic); err != nil {
		return err
	}
	for _, algorithm := range slices.Sorted(maps.Keys(rel.Hashes)) {
		h, err := add("Hashes", rel.Hashes[algorithm], text, label, binary, dynamic)
		if err != nil {
			return err
		}
		f.hashes = append(f.hashes, hashField{h, algorithm})
	}
	rel.list = strings.Join(list, ", ")
	return nil
}

// conditions makes the conditions of which rows are in the set.
func (rel *relation) conditions(db engine) error {
	for _, name := range rel.template.columns() {
		if c, _ := rel.column("URI", name, rel.kindOf(name)); c.nullable && name != rel.Key {
			rel.member = and(rel.member, c.ref+" IS NOT NULL")
		}
	}
	if rel.Where != "" {
		// On a line of its own: it may end in a comment.
		rel.member = and(rel.member, "(\n"+rel.Where+"\n)")
	}
	if rel.Deleted != "" {
		c, err := rel.column("Deleted", rel.Deleted, instant, date, boolean, integer, text, label, dynamic)
		if err != nil {
			return err
		}
		rel.live = db.isLive(c)
	}
	rel.filter = and(rel.member, rel.live)
	return nil
}

func (rel *relation) kindOf(name string) kind {
	return rel.columns[slices.IndexFunc(rel.columns, func(c column) bool { return c.name == name })].kind
}

// and joins those of conditions that are not empty.
func and(conditions ...string) string {
	return strings.Join(slices.DeleteFunc(conditions, func(c string) bool { return c == "" }), " AND ")
}

// where is the WHERE clause of conditions, which may all be empty.
func where(conditions ...string) string {
	if all := and(conditions...); all != "" {
		return " WHERE " + all
	}
	return ""
}
