package sqltable

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
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

	// Hashes are the columns of digests, by algorithm ("md5", "sha-1", "sha-256"): text
	// in hexadecimal, or bytes. A column under the name "" has lists of hashes in the
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
	if t.Unit == 0 {
		return time.Second
	}
	return t.Unit
}

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
		if strings.ContainsAny(algorithm, ": \t\r\n") {
			return fmt.Errorf("%q is no hash algorithm: give one such as sha-256", algorithm)
		}
	}
	for _, name := range append(slices.Collect(maps.Values(t.Hashes)), t.Schema, t.Name, t.Key, t.LastModified, t.Length, t.Type, t.Deleted) {
		if strings.ContainsRune(name, 0) {
			return fmt.Errorf("%q cannot be a name", name)
		}
	}
	return nil
}
