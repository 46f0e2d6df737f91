package sqltable

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
)

// A relation is the table, view or query of a Table, as the database describes it.
type relation struct {
	engine.Relation
	table    Table
	title    string
	template *template
	request  *regexp.Regexp

	live   string // condition that a row is not deleted softly
	member string // condition that a row is of the set, or deleted from it
	fields fields
}

// newRelation returns the relation of t before the database describes it.
func newRelation(db engine.DB, t *Table) *relation {
	return &relation{table: *t, title: t.title(), Relation: engine.Relation{
		Schema: t.Schema, Name: t.Name, Query: t.Query, Where: t.Where,
		Alias: db.Quote(t.alias()), Key: engine.Key{Column: engine.Column{Name: t.Key}},
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
	if err := db.Find(ctx, &rel.Relation); err != nil {
		return nil, err
	}
	for i := range rel.Columns {
		c := &rel.Columns[i]
		c.Ref = rel.Alias + "." + db.Quote(c.Name)
	}
	k, err := rel.column("Key", t.Key, engine.Integer, engine.Text, engine.Binary, engine.UUID)
	if err != nil {
		return nil, fmt.Errorf("%w; the key must be of a type whose order is known: integer, text, bytes or (in PostgreSQL) uuid", err)
	}
	rel.Key.Column = *k
	rel.Order = k.Ref
	if err := rel.findFields(); err != nil {
		return nil, err
	}
	if err := rel.conditions(db); err != nil {
		return nil, err
	}
	return rel, nil
}

// column returns the column of this name, which the given field of Table has named. It
// must be of one of kinds.
func (rel *relation) column(field, name string, kinds ...engine.Kind) (*engine.Column, error) {
	i := slices.IndexFunc(rel.Columns, func(c engine.Column) bool { return c.Name == name })
	if i < 0 {
		var names []string
		for _, c := range rel.Columns {
			names = append(names, c.Name)
		}
		return nil, fmt.Errorf("there is no column %q for %s; the columns are %q", name, field, names)
	}
	c := &rel.Columns[i]
	if !slices.Contains(kinds, c.Kind) {
		return nil, fmt.Errorf("column %q is of type %s, which cannot be %s", name, c.Type, field)
	}
	return c, nil
}

// findFields finds the columns that make up a resource.
func (rel *relation) findFields() error {
	var list []string
	add := func(name, column string, kinds ...engine.Kind) (field, error) {
		if column == "" {
			return field{at: -1}, nil
		}
		c, err := rel.column(name, column, kinds...)
		if err != nil {
			return field{}, err
		}
		read := c.ReadRef()
		at := slices.Index(list, read)
		if at < 0 {
			at = len(list)
			list = append(list, read)
		}
		return field{c, at}, nil
	}
	if _, err := add("Key", rel.Key.Name, rel.Key.Kind); err != nil {
		return err
	}
	f := &rel.fields
	for _, v := range rel.template.variables {
		value, err := add("URI", v.column, engine.Integer, engine.Text, engine.Label, engine.Binary, engine.UUID, engine.Dynamic)
		if err != nil {
			return err
		}
		f.values = append(f.values, value)
	}
	var err error
	if f.lastModified, err = add("LastModified", rel.table.LastModified, engine.Instant, engine.Date, engine.Integer, engine.Text, engine.Label, engine.Dynamic); err != nil {
		return err
	}
	if f.length, err = add("Length", rel.table.Length, engine.Integer, engine.Dynamic); err != nil {
		return err
	}
	if f.mediaType, err = add("Type", rel.table.Type, engine.Text, engine.Label, engine.Dynamic); err != nil {
		return err
	}
	for _, algorithm := range slices.Sorted(maps.Keys(rel.table.Hashes)) {
		h, err := add("Hashes", rel.table.Hashes[algorithm], engine.Text, engine.Label, engine.Binary, engine.Dynamic)
		if err != nil {
			return err
		}
		f.hashes = append(f.hashes, hashField{h, algorithm})
	}
	rel.List = strings.Join(list, ", ")
	return nil
}

// conditions sets the conditions that a row is in the set.
func (rel *relation) conditions(db engine.DB) error {
	for _, name := range rel.template.columns() {
		if c, _ := rel.column("URI", name, rel.kindOf(name)); c.Nullable && name != rel.Key.Name {
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

func (rel *relation) kindOf(name string) engine.Kind {
	return rel.Columns[slices.IndexFunc(rel.Columns, func(c engine.Column) bool { return c.Name == name })].Kind
}
