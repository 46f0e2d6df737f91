package sqltable

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/coverage"
)

// A definition describes what the triggers of a journal cover. The statements that create
// the triggers store it with the journal.
type definition struct {
	Schema  string `json:"schema"`
	Table   string `json:"table"`
	URI     string `json:"uri"` // the template
	Where   string `json:"where,omitempty"`
	Deleted string `json:"deleted,omitempty"`

	// The same as SQL: the condition that a row is listed, its key and its URI.
	Filter  string `json:"filter"`
	KeyExpr string `json:"keyExpr"`
	URIExpr string `json:"uriExpr"`

	Columns string `json:"columns"` // of the Table, all of them, as JSON
	Digest  string `json:"digest"`  // of the statements, without their stamp

	journalled *engine.Journalled
	statements []string // with stampHere
	upsert     string   // of the definition, with stampHere
}

// stampHere stands for the stamp in statements.
const stampHere = "@rs-stamp@"

// newDefinition returns the definition of the triggers for rel and set.
func newDefinition(ctx context.Context, db engine.JournalDB, rel *relation, set string) (*definition, error) {
	j := newJournalled(db, rel, set)
	j.Stamp = stampHere
	statements, err := db.CreateTriggers(ctx, j)
	if err != nil {
		return nil, err
	}
	columns, err := json.Marshal(rel.table)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256([]byte(strings.Join(statements, "\x00")))
	d := &definition{
		Schema: rel.Schema, Table: rel.Name, URI: rel.table.URI, Where: rel.Where, Deleted: rel.table.Deleted,
		Filter: rel.Filter, KeyExpr: j.KeyExpr, URIExpr: j.URIExpr,
		Columns: string(columns), Digest: hex.EncodeToString(digest[:12]), journalled: j, statements: statements,
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	d.upsert = fmt.Sprintf(`INSERT INTO %srs_cover (set_id, made, covers) SELECT id, '%s', %s FROM %[1]srs_set WHERE name = %[4]s
		ON CONFLICT (set_id) DO UPDATE SET made = excluded.made, covers = excluded.covers`, db.Store(), stampHere, db.Literal(string(text)), j.SetName)
	return d, nil
}

// parseDefinition returns the definition that is stored with a journal; an empty one if there
// is none.
func parseDefinition(c *coverage.Cover) *definition {
	d := new(definition)
	if json.Unmarshal([]byte(c.Covers), d) != nil {
		return new(definition)
	}
	return d
}

// table returns the Table of d.
func (d *definition) table() (t Table, err error) {
	return t, json.Unmarshal([]byte(d.Columns), &t)
}

// lists reports whether d lists the same rows as other, at the same URIs.
func (d *definition) lists(other *definition) bool {
	return d.Schema == other.Schema && d.Table == other.Table && d.Filter == other.Filter && d.URIExpr == other.URIExpr
}

// stamp returns the stamp of statements of this number.
func (d *definition) stamp(number string) string { return d.Digest + " " + number }

// stamped returns the statements with this number as their stamp.
func (d *definition) stamped(number string) []string {
	all := make([]string, 0, len(d.statements)+1)
	for _, s := range d.statements {
		all = append(all, strings.ReplaceAll(s, stampHere, d.stamp(number)))
	}
	return append(all, strings.Replace(d.upsert, stampHere, number, 1))
}

// triggers returns the number of triggers that the statements make.
func (d *definition) triggers() (n int) {
	for _, s := range d.statements {
		if strings.HasPrefix(s, "CREATE TRIGGER ") || strings.HasPrefix(s, "CREATE OR REPLACE TRIGGER ") {
			n++
		}
	}
	return n
}

// but returns the condition of the rows that d lists and other does not.
func (d *definition) but(other *definition) string {
	return engine.And(d.condition(), "CASE WHEN "+other.condition()+" THEN 0 ELSE 1 END = 1")
}

func (d *definition) condition() string { return "(" + cmp.Or(d.Filter, "1 = 1") + ")" }

// made reports whether the statements with this number created the triggers. The statements
// may have been run by any program.
func (d *definition) made(number string, s *engine.Signs) bool {
	n := 0
	for _, t := range s.Triggers {
		switch {
		case !t.Part && (t.Stamp != d.stamp(number) || !t.On):
			return false
		case t.Part && t.Stamp != "" && t.Stamp != d.stamp(number):
			return false
		case !t.Part:
			n++
		}
	}
	return number != "" && n == d.triggers()
}
