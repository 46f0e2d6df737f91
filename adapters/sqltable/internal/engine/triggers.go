package engine

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// A TriggerDB is a DB with triggers.
type TriggerDB interface {
	DB
	Expressions

	// CreateTriggers returns the statements that create the triggers of j.
	CreateTriggers(ctx context.Context, j *Journalled) ([]string, error)

	// DropTriggers returns the statements that drop the triggers on rel whose names
	// begin with base.
	DropTriggers(ctx context.Context, rel *Relation, base string) ([]string, error)

	// Apply runs statements in one transaction.
	Apply(ctx context.Context, statements []string) error

	// TriggersOn calls each with the name and the SQL of each trigger that journals
	// rows of rel, or of its function.
	TriggersOn(ctx context.Context, rel *Relation, each func(name, sql string)) error
}

// Expressions are the SQL expressions that compute what a resource says.
type Expressions interface {
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
	Mark string // the line of a trigger that names the URI template

	// In SQL, of a row.
	SetName string
	KeyExpr string
	URIExpr string

	Columns []string // of rs_pending, beside those of every change
	Values  []string // for Columns
	Listed  []*Column
	Others  []*Column // the columns of URIs other than the key
	Content bool      // Listed has columns that are neither of the key nor of the URI
}

// Fill replaces {name} in text by values[name], but not in the values themselves.
func Fill(text string, values map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, "{"+name+"}", values[name])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
