package sqlitetable

import (
	"fmt"
	"strings"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
)

func (*database) Literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func (*database) KeyExpr(k *engine.Key) string {
	expr := k.Ref
	if k.Kind == engine.Integer {
		// The sum is in two steps, so that neither overflows.
		expr = fmt.Sprintf("CASE WHEN %s < 0 THEN '-' || printf('%%0%dd', %[1]s + 9223372036854775807 + 1) ELSE printf('%%0%[2]dd', %[1]s) END", k.Ref, engine.Digits)
	}
	return "CAST(" + expr + " AS BLOB)"
}

func (*database) TextExpr(c *engine.Column) string { return "CAST(" + c.Ref + " AS TEXT)" }

// EscapeExpr returns an expression that reads the bytes one by one only if there is
// something to escape.
func (*database) EscapeExpr(c *engine.Column) string {
	return fmt.Sprintf(`CASE WHEN CAST(%s AS TEXT) NOT GLOB '*[^A-Za-z0-9._~-]*' THEN CAST(%[1]s AS TEXT) ELSE (
		WITH RECURSIVE rs_bytes (i, done) AS (SELECT 1, '' UNION ALL
			SELECT i + 1, done || CASE WHEN CAST(substr(CAST(%[1]s AS BLOB), i, 1) AS TEXT) GLOB '[A-Za-z0-9._~-]'
				THEN CAST(substr(CAST(%[1]s AS BLOB), i, 1) AS TEXT) ELSE '%%' || hex(substr(CAST(%[1]s AS BLOB), i, 1)) END
			FROM rs_bytes WHERE i <= length(CAST(%[1]s AS BLOB)))
		SELECT done FROM rs_bytes ORDER BY i DESC LIMIT 1) END`, c.Ref)
}

// MicrosExpr returns an expression that reads text as the Provider does. It handles the
// fraction of a second separately, because SQLite keeps only three digits of it.
func (*database) MicrosExpr(c *engine.Column, perSecond int64) string {
	const million = 1_000_000
	return fmt.Sprintf(`CASE WHEN typeof(%s) = 'integer' THEN %[1]s * %d
		WHEN %[1]s NOT GLOB '*[^0-9]*' THEN CAST(%[1]s AS INTEGER) * %[2]d
		WHEN substr(%[1]s, 20, 1) = '.' THEN strftime('%%s', substr(%[1]s, 1, 19) || ltrim(substr(%[1]s, 21), '0123456789')) * %[3]d
			+ CAST(round(CAST('0.' || substr(%[1]s, 21, 6) AS REAL) * %[3]d) AS INTEGER)
		WHEN length(%[1]s) = 10 OR length(%[1]s) >= 19 THEN strftime('%%s', %[1]s) * %[3]d END`, c.Ref, million/perSecond, million)
}

func (*database) HexExpr(c *engine.Column) string {
	return fmt.Sprintf("lower(CASE typeof(%s) WHEN 'blob' THEN hex(%[1]s) ELSE %[1]s END)", c.Ref)
}

func (*database) LowerExpr(c *engine.Column) string { return "lower(" + c.Ref + ")" }
