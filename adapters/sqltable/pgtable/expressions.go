package pgtable

import (
	"fmt"
	"strings"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
)

// Literal returns a literal that is valid with any setting of
// standard_conforming_strings.
func (*database) Literal(s string) string {
	quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

func (db *database) KeyExpr(k *engine.Key) string {
	expr := k.Ref + "::text"
	switch k.Kind {
	case engine.Binary:
		return k.Ref
	case engine.Integer:
		expr = fmt.Sprintf("CASE WHEN %s < 0 THEN '-' || lpad((%[1]s::numeric + 9223372036854775808)::text, %d, '0') ELSE lpad(%[1]s::text, %[2]d, '0') END", k.Ref, engine.Digits)
	}
	return "convert_to(" + expr + ", 'UTF8')"
}

func (db *database) TextExpr(c *engine.Column) string {
	if c.Kind == engine.Binary {
		return "convert_from(" + c.Ref + ", 'UTF8')"
	}
	return c.Ref + "::text"
}

// EscapeExpr returns an expression that reads the bytes one by one only if there is
// something to escape.
func (db *database) EscapeExpr(c *engine.Column) string {
	bytes, plain := "convert_to("+c.Ref+"::text, 'UTF8')", fmt.Sprintf(`%s::text COLLATE "C" ~ '^[A-Za-z0-9._~-]*$'`, c.Ref)
	if c.Kind == engine.Binary {
		bytes, plain = c.Ref, fmt.Sprintf("encode(%s, 'escape') ~ '^[A-Za-z0-9._~-]*$'", c.Ref)
	}
	text := fmt.Sprintf("encode(%s, 'escape')", bytes)
	return fmt.Sprintf(`CASE WHEN %s THEN %s ELSE (
			SELECT string_agg(CASE WHEN rs_c BETWEEN 48 AND 57 OR rs_c BETWEEN 65 AND 90 OR rs_c BETWEEN 97 AND 122 OR rs_c IN (45, 46, 95, 126)
				THEN chr(rs_c) ELSE '%%' || upper(lpad(to_hex(rs_c), 2, '0')) END, '' ORDER BY rs_i)
			FROM (SELECT rs_i, get_byte(%s, rs_i) AS rs_c FROM generate_series(0, length(%[3]s) - 1) AS rs_i) AS rs_bytes) END`, plain, text, bytes)
}

func (db *database) MicrosExpr(c *engine.Column, perSecond int64) string {
	const million = 1_000_000
	switch c.Kind {
	case engine.Instant, engine.Date:
		return fmt.Sprintf("CASE WHEN isfinite(%s) THEN (extract(epoch FROM %[1]s) * %d)::bigint END", c.Ref, million)
	case engine.Integer:
		most := int64(9e18) / (million / perSecond)
		return fmt.Sprintf("CASE WHEN %s BETWEEN -%d AND %[2]d THEN %[1]s::bigint * %d END", c.Ref, most, million/perSecond)
	}
	return "NULL::bigint"
}

func (db *database) HexExpr(c *engine.Column) string {
	if c.Kind == engine.Binary {
		return "encode(" + c.Ref + ", 'hex')"
	}
	return db.LowerExpr(c)
}

func (*database) LowerExpr(c *engine.Column) string { return "lower(" + c.Ref + `::text COLLATE "C")` }
