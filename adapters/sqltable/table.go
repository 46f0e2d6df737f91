package sqltable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
)

// A Table describes how a table or view makes up a set of resources. Columns are given
// by their names, without quotes. Key, URI, and either Name or Query are mandatory.
//
// Where and Query are SQL, and must come from trusted sources; everything else is
// quoted. Neither can have parameters.
type Table struct {
	// Schema is a schema of PostgreSQL, a database of MariaDB or MySQL, or an attached
	// database of SQLite. If empty, the table is looked up once, when it is opened, as
	// the connection does for an unqualified name.
	Schema string

	// Name is the name of the table or view.
	Name string

	// Query is a SELECT statement to use instead of a view, if Name is empty.
	Query string

	// Key is the key column; see the package comment.
	Key string

	// URI is the template for the URIs of resources (RFC 6570, levels 1 and 2).
	// {column} is replaced by the percent-encoded value of that column, and {+column}
	// by a value that is a URI, or a part of one, already. A row with NULL in one of
	// these columns is not in the set.
	URI string

	// LastModified, Length and Type are the columns for these fields. A resource lacks
	// the field if the name is empty, or if its row has NULL. LastModified is a column of
	// times (without a zone, they are in UTC), of text like 2026-03-01T12:00:00Z or
	// 2026-03-01 12:00:00, or of integers that count Units since 1970. A column of text
	// is refused if one of its first rows has text that is not a time. Length is an
	// integer.
	LastModified string
	Length       string
	Type         string

	// Hashes are the columns of digests, by algorithm ("md5", "sha-1", "sha-256" or another
	// name of the IANA registry): text in hexadecimal, or bytes. A column under the name "" has lists of hashes in the
	// syntax of documents: "md5:… sha-256:…".
	Hashes map[string]string

	// Deleted is the column that marks rows as deleted: by the time of the deletion, in
	// the forms of LastModified and NULL if not deleted, or by a flag, which is true or
	// a number other than zero.
	Deleted string

	// Where is a condition that rows must meet to be in the set.
	Where string

	// Unit is the unit of times that are integers: time.Second, time.Millisecond or
	// time.Microsecond. If zero, time.Second is used.
	Unit time.Duration
}

// alias returns the name of t in statements: its own name, which Where may use, unless
// that has another meaning in a trigger.
func (t *Table) alias() string {
	if t.Name == "" || strings.EqualFold(t.Name, "old") || strings.EqualFold(t.Name, "new") {
		return "rs_query"
	}
	return t.Name
}

func (t *Table) title() string {
	switch {
	case t.Name == "":
		return "query"
	case t.Schema == "":
		return fmt.Sprintf("table %q", t.Name)
	}
	return fmt.Sprintf("table %q.%q", t.Schema, t.Name)
}

func (t *Table) unit() time.Duration {
	return cmp.Or(t.Unit, time.Second)
}

// hashAlgorithms are the Hash Function Textual Names of IANA, by which documents name
// algorithms (section 7). Destinations ignore a digest under any other name.
var hashAlgorithms = []string{"md5", "sha-1", "sha-224", "sha-256", "sha-384", "sha-512", "shake128", "shake256"}

// check returns an error if t is not valid by itself.
func (t *Table) check() error {
	switch {
	case (t.Name == "") == (t.Query == ""):
		return fmt.Errorf("give either Name or Query")
	case t.Query != "" && t.Schema != "":
		return fmt.Errorf("a Query names its schemas itself: leave out Schema")
	case t.Key == "":
		return fmt.Errorf("give the Key column")
	case !slices.Contains([]time.Duration{time.Second, time.Millisecond, time.Microsecond}, t.unit()):
		return fmt.Errorf("unknown Unit %v: give time.Second, time.Millisecond or time.Microsecond", t.Unit)
	}
	for algorithm := range t.Hashes {
		if algorithm != "" && !slices.Contains(hashAlgorithms, algorithm) {
			return fmt.Errorf("unknown hash algorithm %q: give one of %s", algorithm, strings.Join(hashAlgorithms, ", "))
		}
	}
	for _, name := range append(slices.Collect(maps.Values(t.Hashes)), t.Schema, t.Name, t.Key, t.LastModified, t.Length, t.Type, t.Deleted) {
		if strings.ContainsRune(name, 0) {
			return fmt.Errorf("%q cannot be a name", name)
		}
	}
	return nil
}

// A relation is the table, view or query of a Table, as the database describes it.
type relation struct {
	engine.Relation
	table    Table
	title    string
	template *template
	request  *regexp.Regexp

	fits   string // condition that a document can have the key of a row; "" for any row
	live   string // condition that a row is not deleted softly
	member string // condition that a row is of the set, or deleted from it
	fields fields
}

// newRelation returns the relation of t before the database describes it.
func newRelation(db engine.DB, t *Table) *relation {
	alias := db.Quote(t.alias())
	return &relation{table: *t, title: t.title(), Relation: engine.Relation{
		Schema: t.Schema, Name: t.Name, Query: t.Query, Where: t.Where,
		Alias: alias, From: "(\n" + t.Query + "\n) AS " + alias, Key: engine.Key{Column: engine.Column{Name: t.Key}},
	}}
}

// key returns the key column.
func (rel *relation) key() *key { return (*key)(&rel.Key) }

// fields are the positions of columns in a row of List. The key is at 0, and a column
// that the Table does not name at -1.
type fields struct {
	values       []field // of the template's variables
	lastModified field
	length       field
	mediaType    field
	hashes       []hashField // by algorithm
}

type field struct {
	*engine.Column
	at int
}

type hashField struct {
	field
	algorithm string // "" if the values say
}

// describe looks up the table, view or query of t and its columns.
func describe(ctx context.Context, db engine.DB, t *Table) (*relation, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	tmpl, err := parseTemplate(t.URI)
	if err != nil {
		return nil, err
	}
	rel := newRelation(db, t)
	rel.template, rel.request = tmpl, tmpl.request()
	if err := rel.find(ctx, db); err != nil {
		return nil, err
	}
	for i := range rel.Columns {
		c := &rel.Columns[i]
		c.Ref = rel.Alias + "." + db.Quote(c.Name)
	}
	k, err := rel.column("Key", t.Key, engine.Integer, engine.Text, engine.Binary, engine.UUID)
	if err != nil {
		return nil, err
	}
	rel.Key.Column = *k
	rel.Order = k.Ref
	rel.fits = db.Fits(&rel.Key, resourcesync.MaxKeyLength)
	if err := rel.findFields(db); err != nil {
		return nil, err
	}
	if err := rel.conditions(db); err != nil {
		return nil, err
	}
	return rel, nil
}

// A FieldError means that the column that a field of [Table] names cannot be used, or that no
// table has its Name.
type FieldError struct {
	Field string // such as "Key" or "LastModified"
	Err   error
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns e.Err.
func (e *FieldError) Unwrap() error { return e.Err }

// find finds the table. If there is none, the error is a *FieldError.
func (rel *relation) find(ctx context.Context, db engine.DB) error {
	err := db.Find(ctx, &rel.Relation)
	if _, ok := errors.AsType[*engine.TableError](err); ok {
		return &FieldError{"Name", err}
	}
	return err
}

// column returns the column of this name, which the given field of Table has named. It
// must be of one of kinds, if there are any. An error is a *FieldError.
func (rel *relation) column(field, name string, kinds ...engine.Kind) (*engine.Column, error) {
	i := slices.IndexFunc(rel.Columns, func(c engine.Column) bool { return c.Name == name })
	if i < 0 {
		var names []string
		for _, c := range rel.Columns {
			names = append(names, c.Name)
		}
		return nil, &FieldError{field, fmt.Errorf("there is no column %q; the columns are %s", name, strings.Join(names, ", "))}
	}
	c := &rel.Columns[i]
	if len(kinds) > 0 && !slices.Contains(kinds, c.Kind) {
		return nil, &FieldError{field, fmt.Errorf("column %q is of type %s, which cannot be %s", name, c.Type, field)}
	}
	return c, nil
}

// checkUnique returns a [*FieldError] if keys may be NULL or occur twice.
func (rel *relation) checkUnique(ctx context.Context, db engine.DB) error {
	err := db.CheckUnique(ctx, &rel.Relation)
	if _, ok := errors.AsType[*engine.KeyError](err); ok {
		return &FieldError{"Key", err}
	}
	return err
}

// findFields finds the columns that make up a resource.
func (rel *relation) findFields(db engine.DB) error {
	var list []string
	var failed error // the first
	addAs := func(read func(*engine.Column) string, name, column string, kinds ...engine.Kind) field {
		if column == "" {
			return field{at: -1}
		}
		c, err := rel.column(name, column, kinds...)
		if err != nil {
			failed = cmp.Or(failed, err)
			return field{}
		}
		at := slices.Index(list, read(c))
		if at < 0 {
			at = len(list)
			list = append(list, read(c))
		}
		return field{c, at}
	}
	add := func(name, column string, kinds ...engine.Kind) field {
		return addAs((*engine.Column).ReadRef, name, column, kinds...)
	}
	add("Key", rel.Key.Name)
	f := &rel.fields
	for _, v := range rel.template.Variables {
		f.values = append(f.values, add("URI", v.Name, engine.Integer, engine.Text, engine.Label, engine.Binary, engine.UUID, engine.Dynamic))
	}
	f.lastModified = add("LastModified", rel.table.LastModified, engine.Instant, engine.Date, engine.Integer, engine.Text, engine.Label, engine.Dynamic)
	f.length = addAs(db.LengthRef, "Length", rel.table.Length, engine.Integer, engine.Dynamic)
	f.mediaType = add("Type", rel.table.Type, engine.Text, engine.Label, engine.Dynamic)
	for _, algorithm := range slices.Sorted(maps.Keys(rel.table.Hashes)) {
		h := add("Hashes", rel.table.Hashes[algorithm], engine.Text, engine.Label, engine.Binary, engine.Dynamic)
		f.hashes = append(f.hashes, hashField{h, algorithm})
	}
	rel.List = strings.Join(list, ", ")
	return failed
}

// conditions sets the conditions that a row is in the set.
func (rel *relation) conditions(db engine.DB) error {
	for _, name := range rel.template.columns() {
		if c, _ := rel.column("URI", name); c.Nullable && name != rel.Key.Name {
			rel.member = engine.And(rel.member, c.Ref+" IS NOT NULL")
		}
	}
	if rel.Where != "" {
		// On lines of its own, because it may end in a comment.
		rel.member = engine.And(rel.member, "(\n"+rel.Where+"\n)")
	}
	if rel.table.Deleted != "" {
		c, err := rel.column("Deleted", rel.table.Deleted, engine.Instant, engine.Date, engine.Boolean, engine.Integer, engine.Text, engine.Label, engine.Dynamic)
		if err != nil {
			return err
		}
		rel.live = db.IsLive(c)
	}
	rel.Filter = engine.And(rel.member, rel.live)
	return nil
}
