package mysqltable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// CreateTriggers implements [engine.TriggerDB]. The table is locked while its triggers are
// replaced, because MySQL cannot replace one: otherwise a write in between would leave no
// trace.
//
// Triggers insert VALUES and never the result of a SELECT, which would hold the lock of the
// outbox's AUTO_INCREMENT to the end of the host's statement, and cause deadlocks.
func (db *database) CreateTriggers(ctx context.Context, j *engine.Journalled) ([]string, error) {
	if !j.Content {
		return nil, errors.New("name a column that changes with the content of a row, as its LastModified, Length, Type or one of its Hashes: a row is published again only if its entry changes")
	}
	if err := db.checkEngine(ctx, j.Relation); err != nil {
		return nil, err
	}
	if err := j.Try(ctx, db); err != nil {
		return nil, err
	}
	outbox := db.Outbox(j.Relation, j.Base)
	key := func(row string) string {
		k := j.Key
		k.Ref = row + "." + db.Quote(k.Name)
		if k.Kind == engine.Text {
			return asBytes(k.Ref)
		}
		return "CAST(" + k.Ref + " AS BINARY)"
	}
	note := func(row string) string { return "INSERT INTO " + outbox + " (row_key) VALUES (" + key(row) + ")" }
	comment := templateComment + url.QueryEscape(j.URI)
	if len(comment) > maxComment {
		return nil, fmt.Errorf("the URI template is too long for the comment of a table: with special characters percent-encoded, it may have %d bytes", maxComment-len(templateComment))
	}
	statements := []string{
		"CREATE TABLE IF NOT EXISTS " + outbox + " (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, row_key VARBINARY(3072) NOT NULL, at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP) ENGINE=InnoDB COMMENT='" + comment + "'",
		"LOCK TABLES " + j.Qualified + " WRITE",
	}
	trigger := func(event, body string) {
		name := db.Quote(j.Schema) + "." + db.Quote(j.Base+"_"+strings.ToLower(event))
		statements = append(statements, "DROP TRIGGER IF EXISTS "+name,
			createTrigger(name, event, j.Qualified, body))
	}
	trigger("INSERT", note("NEW"))
	trigger("DELETE", note("OLD"))
	trigger("UPDATE", "BEGIN\n\tIF NOT ("+db.same(j)+") THEN\n\t\t"+note("NEW")+";\n\tEND IF;\n\tIF NOT ("+key("OLD")+" <=> "+key("NEW")+") THEN\n\t\t"+note("OLD")+";\n\tEND IF;\nEND")
	return append(statements, "UNLOCK TABLES"), nil
}

// templateComment begins the comment of an outbox. The URI template follows percent-encoded,
// so that it has no character with a meaning in any mode of SQL.
const templateComment = "resourcesync URI template: "

const maxComment = 2048

// OutboxTemplate implements [engine.OutboxDB].
func (db *database) OutboxTemplate(ctx context.Context, rel *engine.Relation, base string) (string, error) {
	var comment string
	err := db.db.QueryRowContext(ctx, "SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", rel.Schema, base).Scan(&comment)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	text, found := strings.CutPrefix(comment, templateComment)
	if err != nil || !found {
		return "", err
	}
	return url.QueryUnescape(text)
}

// Waiting implements [engine.OutboxDB]. The server reports a table that a user may not read
// as refused, whether or not it exists.
func (db *database) Waiting(ctx context.Context, outbox string) (since time.Time, hidden bool, err error) {
	var seconds int64
	err = db.db.QueryRowContext(ctx, "SELECT UNIX_TIMESTAMP(at) FROM "+outbox+" ORDER BY id LIMIT 1").Scan(&seconds)
	switch {
	case err == nil:
		return time.Unix(seconds, 0).UTC(), false, nil
	case errors.Is(err, sql.ErrNoRows), isError(err, "1054"): // of an earlier version
		return time.Time{}, false, nil
	}
	return time.Time{}, isError(err, "1142 1143 1044"), err
}

// createTrigger returns the statement that creates a trigger. Its name and the table are
// qualified and quoted.
func createTrigger(name, event, table, body string) string {
	return "CREATE TRIGGER " + name + " AFTER " + event + " ON " + table + " FOR EACH ROW " + body
}

// same returns the condition that an update changes no column that j contains, or that
// decides whether the row is in the set. Text is compared by its bytes.
func (db *database) same(j *engine.Journalled) string {
	var all []string
	for i := range j.Relation.Columns {
		c := &j.Relation.Columns[i]
		if !slices.ContainsFunc(j.Listed, func(l *engine.Column) bool { return l.Name == c.Name }) && !j.Mentioned(c) {
			continue
		}
		was, is := "OLD."+db.Quote(c.Name), "NEW."+db.Quote(c.Name)
		if c.Kind == engine.Text || c.Kind == engine.Label {
			was, is = "CAST("+was+" AS BINARY)", "CAST("+is+" AS BINARY)"
		}
		all = append(all, was+" <=> "+is)
	}
	return engine.And(all...)
}

// checkEngine returns an error if a rollback would not undo the writes of the table and of
// its triggers together.
func (db *database) checkEngine(ctx context.Context, rel *engine.Relation) error {
	var name string
	err := db.db.QueryRowContext(ctx, "SELECT coalesce(ENGINE, '') FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", rel.Schema, rel.Name).Scan(&name)
	if err == nil && !strings.EqualFold(name, "InnoDB") {
		err = fmt.Errorf("its engine is %s, whose writes are not part of transactions: ALTER TABLE %s ENGINE=InnoDB, or publish it by comparison, without triggers", name, rel.Qualified)
	}
	return err
}

func (db *database) Outbox(rel *engine.Relation, base string) string {
	return db.Quote(rel.Schema) + "." + db.Quote(base)
}

func (db *database) DropTriggers(rel *engine.Relation, base string) (statements []string) {
	for _, event := range []string{"insert", "delete", "update"} {
		statements = append(statements, "DROP TRIGGER IF EXISTS "+db.Quote(rel.Schema)+"."+db.Quote(base+"_"+event))
	}
	return append(statements, "DROP TABLE IF EXISTS "+db.Outbox(rel, base))
}

// Apply runs statements in one session. CREATE and DROP cannot be part of a transaction.
func (db *database) Apply(ctx context.Context, statements []string) error {
	conn, err := db.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, s := range statements {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			_, unlocked := conn.ExecContext(context.WithoutCancel(ctx), "UNLOCK TABLES")
			return errors.Join(advise(err), unlocked)
		}
	}
	return nil
}

// advise adds what to do about an error of a server that refuses triggers.
func advise(err error) error {
	for _, refusal := range []struct{ numbers, remedy string }{
		{"1044 1142", "let an administrator run the statements, or grant CREATE, DROP, TRIGGER, LOCK TABLES, SELECT, INSERT and DELETE on the database to this user"},
		{"1227 1419", "the server keeps a binary log: let an administrator run the statements, or SET GLOBAL log_bin_trust_function_creators = 1"},
	} {
		if isError(err, refusal.numbers) {
			return fmt.Errorf("%w; %s", err, refusal.remedy)
		}
	}
	return err
}

// isError reports whether err is an error of the server with one of these numbers.
func isError(err error, numbers string) bool {
	for number := range strings.FieldsSeq(numbers) {
		if strings.HasPrefix(err.Error(), "Error "+number+" ") {
			return true
		}
	}
	return false
}

func (db *database) TriggersOn(ctx context.Context, rel *engine.Relation, each func(name, sql string)) error {
	return db.Query(ctx, `SELECT TRIGGER_NAME, EVENT_MANIPULATION, ACTION_STATEMENT FROM information_schema.TRIGGERS
		WHERE EVENT_OBJECT_SCHEMA = ? AND EVENT_OBJECT_TABLE = ? AND ACTION_TIMING = 'AFTER' AND TRIGGER_NAME LIKE 'rs\_%'`, func(r rowdb.Row) error {
		name := rowdb.String(r, 0)
		each(name, createTrigger(db.Quote(rel.Schema)+"."+db.Quote(name), rowdb.String(r, 1), rel.Qualified, rowdb.String(r, 2)))
		return nil
	}, rel.Schema, rel.Name)
}

// removed is the number of rows that one statement removes from an outbox.
const removed = 250

// Remove implements [engine.OutboxDB]. The join looks up each id by the primary key. A list
// of ids could become a scan of the outbox, which waits for all transactions of the host
// that are adding rows, and makes others wait.
func (db *database) Remove(ctx context.Context, outbox string, ids []int64) error {
	for some := range slices.Chunk(ids, removed) {
		list := "SELECT " + strconv.FormatInt(some[0], 10) + " AS id"
		for _, id := range some[1:] {
			list += " UNION ALL SELECT " + strconv.FormatInt(id, 10)
		}
		if _, err := db.db.ExecContext(ctx, "DELETE o FROM ("+list+") AS i STRAIGHT_JOIN "+outbox+" AS o FORCE INDEX (PRIMARY) ON o.id = i.id"); err != nil {
			return err
		}
	}
	return nil
}
