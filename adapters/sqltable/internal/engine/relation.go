package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A Relation is the table, view or query that resources are read from.
type Relation struct {
	// Schema, Name, Query and Where are those of the sqltable.Table. Find sets Schema
	// if it is empty.
	Schema, Name, Query, Where string

	Alias     string // quoted
	From      string // in a statement
	Qualified string // the name of the table, qualified and quoted; "" for a query
	IsTable   bool   // no view or query, so its indexes are known
	Columns   []Column
	Key       Key // before Find, only its Name

	Order  string // the key as it is compared
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
