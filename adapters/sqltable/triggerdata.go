package sqltable

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
)

// newJournalled returns the table of rel with the data that its triggers need.
func newJournalled(db engine.TriggerDB, rel *relation, set string) *engine.Journalled {
	j := &engine.Journalled{Relation: &rel.Relation, Base: baseName(rel, set), URI: rel.table.URI}
	see := func(c *engine.Column) {
		if c != nil && !slices.Contains(j.Listed, c) {
			j.Listed = append(j.Listed, c)
			j.Content = j.Content || c.Name != rel.Key.Name && !slices.Contains(rel.template.columns(), c.Name)
		}
	}
	k, _ := rel.column("Key", rel.Key.Name)
	see(k)
	for _, name := range rel.template.columns() {
		c, _ := rel.column("URI", name)
		see(c)
		if name != rel.Key.Name {
			j.Others = append(j.Others, c)
		}
	}
	f := &rel.fields
	see(f.lastModified.Column)
	see(f.length.Column)
	see(f.mediaType.Column)
	for _, h := range f.hashes {
		see(h.Column)
	}
	if rel.table.Deleted != "" {
		// Marking a deletion again does not change the content.
		if c, _ := rel.column("Deleted", rel.table.Deleted); !slices.Contains(j.Listed, c) {
			j.Listed = append(j.Listed, c)
		}
	}
	if db, ok := db.(engine.JournalDB); ok {
		express(db, rel, set, j)
	}
	return j
}

// express sets the expressions of j.
func express(db engine.JournalDB, rel *relation, set string, j *engine.Journalled) {
	j.Mark = templateMark + strconv.QuoteToASCII(rel.table.URI)
	j.SetName, j.KeyExpr = db.Literal(set), db.KeyExpr(&rel.Key)
	add := func(name, value string) {
		j.Columns += ", " + name
		j.Values += ", " + value
	}
	f := &rel.fields
	var parts []string
	for i, literal := range rel.template.Literals {
		if literal != "" {
			parts = append(parts, db.Literal(literal))
		}
		if i < len(f.values) {
			c := f.values[i].Column
			if rel.template.Variables[i].Reserved || c.Kind == engine.Integer || c.Kind == engine.UUID {
				parts = append(parts, db.TextExpr(c))
			} else {
				parts = append(parts, db.EscapeExpr(c))
			}
		}
	}
	j.URIExpr = strings.Join(parts, " || ")
	if c := f.lastModified.Column; c != nil {
		add("lastmod", db.MicrosExpr(c, int64(1e9/rel.table.unit())))
	}
	if c := f.length.Column; c != nil {
		add("length", fmt.Sprintf("CASE WHEN %s < %d THEN %[1]s END", db.LengthRef(c), maxLength))
	}
	if c := f.mediaType.Column; c != nil {
		add("type", db.TextExpr(c))
	}
	if len(f.hashes) > 0 {
		var hashes []string
		for _, h := range f.hashes {
			value := db.LowerExpr(h.Column)
			if h.algorithm != "" {
				value = db.Literal(h.algorithm+":") + " || nullif(" + db.HexExpr(h.Column) + ", '')"
			}
			hashes = append(hashes, "coalesce("+value+" || ' ', '')")
		}
		add("hash", "nullif(trim("+strings.Join(hashes, " || ")+"), '')")
	}
}
