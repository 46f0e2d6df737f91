package sqltable

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Table says what of a table, or view, makes up a set of resources. Columns
// are given by their names, as they are, without quotes. One of Name and Query,
// Key and URI are mandatory.
//
// Where and Query are SQL and must not come from strangers; everything else is
// quoted. Neither can have parameters.
type Table struct {
	// Schema is where the table is: a schema of PostgreSQL, a database of
	// MariaDB and MySQL, an attached database of SQLite. If empty, the table
	// is looked for where the connection looks: once, when it is opened.
	Schema string

	// Name is the name of the table or view.
	Name string

	// Query is a SELECT statement that is read as if it were a view, if
	// Name is empty.
	Query string

	// Key is the column of the key; see the package's comment.
	Key string

	// URI is a template for the URIs of resources (RFC 6570, levels 1 and 2):
	// {column} is replaced by the value of that column, percent-encoded, and
	// {+column} by a value that is a URI, or a part of one, already. A row
	// that has NULL in one of these columns is not in the set.
	URI string

	// LastModified, Length and Type are columns with what a resource says
	// under these names. They may be empty, and their values NULL: not
	// stated. LastModified is a column of times (those without a zone are in
	// UTC), of text like 2026-03-01T12:00:00Z or 2026-03-01 12:00:00, or of
	// integers that count Units since 1970. A column of text is refused if one
	// of its first rows has text that is not a time. Length is an integer.
	LastModified string
	Length       string
	Type         string

	// Hashes are columns with digests, by algorithm ("md5", "sha-1",
	// "sha-256"): text in hexadecimal, or bytes. Under the name "" is a column
	// that has them as a document has: "md5:… sha-256:…".
	Hashes map[string]string

	// Deleted is a column that marks rows that are deleted softly, by the
	// time of that (as LastModified has it, NULL if not deleted), or by a
	// flag: true, or a number other than zero.
	Deleted string

	// Where is a condition that rows must fulfil to be in the set.
	Where string

	// Unit is what times that are integers count. If zero, time.Second is
	// used; time.Millisecond and time.Microsecond are possible.
	Unit time.Duration
}

// alias is what t is called in statements: its own name, which Where may use, if
// that does not mean something else in a trigger.
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

// check reports what is wrong with t itself.
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
