package sqlstore

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// partitions are the columns that divide the tables that grow: a condition on
// these alone leaves all rows of a set, a topic or a hub.
var partitions = []string{"set_id", "topic_id", "log_id", "most"}

// growing are the tables that grow with what is published or subscribed to, with
// the columns and rows that fill them: $i is a number, $key its bytes, and p a row
// of the table that they are filled for. The other tables have a row for each set,
// topic, hub or division, of which there are few.
var growing = map[string]struct{ parents, columns, values string }{
	"rs_resource":     {"rs_set", "set_id, key, newest, size, place, body", "p.id, $key, $i, 100, 7919 * p.id * $i + 1, $key"},
	"rs_block":        {"rs_set", "set_id, lo, rows, count, bytes, newest", "p.id, $key, 100, 100, 10000, $i"},
	"rs_change":       {"rs_set", "set_id, at, change, key, size, body", "p.id, $i, 'updated', $key, 100, $key"},
	"rs_window":       {"rs_set", "set_id, most, until, count, bytes", "p.id, 100, $i, 100, 10000"},
	"rs_seal":         {"rs_set", "set_id, until", "p.id, $i"},
	"rs_pending":      {"rs_set", "set_id, change, key, body", "p.id, 'updated', $key, $key"},
	"rs_notification": {"rs_topic", "topic_id, number, made, capability_list, size, body", "p.id, 1000 + $i, $i, $key, 100, $key"},
	"rs_request": {"rs_topic", "log_id, id, topic_id, digest, callback, host, client, ends, lease, made",
		"p.log_id, 1000000 * p.id + $i, p.id, $key, $key, $key, $key, 0, 1, $i"},
	"rs_subscription": {"rs_topic", "log_id, topic_id, digest, callback, host, client, made", "p.log_id, p.id, $key, $key, $key, $key, $i"},
	"rs_progress": {"rs_topic", "id, log_id, topic_id, expires, due, changed, taken, failures, failing_since, last_error, retry, delivered, given_up, last_given_up",
		"1000000 * p.id + $i, p.log_id, p.id, $i, nullif($i % 2, 0), 0, $i, 0, 0, '', 0, 0, 0, 0"},
	"rs_withdrawn":  {"rs_set", "set_id, key, at, size, place, body", "p.id, $key, $i, 100, 1, $key"},
	"rs_note":       {"", "owner, key, value", "$key, $key, $key"},
	"rs_seen":       {"", "key", "$key"},
	"rs_unreadable": {"", "lo, hi", "$key, $key"},
}

// planRows returns the number of rows of the largest tables.
func planRows() int { return setting("RESOURCESYNC_PLAN_ROWS", 5_000) }

// fills returns the statements that fill the tables that grow, by numbers from first to
// planRows. series selects the numbers i from %d to %d, and key is their bytes.
func fills(count func(table string) int, first, last int, series, key string) []string {
	var all []string
	for _, table := range slices.Sorted(maps.Keys(growing)) {
		g := growing[table]
		each := last - first
		from := ""
		if g.parents != "" {
			from, each = g.parents+" p, ", each/max(1, count(g.parents))
		}
		sql := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s%s WHERE true ON CONFLICT DO NOTHING", table, g.columns, g.values, from, fmt.Sprintf(series, first, first+each))
		all = append(all, strings.NewReplacer("$key", key, "$i", "i").Replace(sql))
	}
	return all
}

// scans are the statements that may read all of a table, or of a set, a topic or a hub
// in it, as normalize returns them, with the reasons.
var scans = map[string]string{
	"DELETE FROM rs_notification WHERE topic_id = (SELECT id FROM rs_topic WHERE log_id = $1 AND uri = $2)":                                                                        "it deletes all that it reads",
	"SELECT id, set_id, change, key, body, uri, lastmod, length, type, encoding, hash FROM rs_pending ORDER BY id LIMIT $1":                                                        "it stops after a batch, in the order of the primary key",
	"DELETE FROM rs_request WHERE log_id = $1 AND made < $now + -3600000000":                                                                                                       "limits bound the requests that await verification",
	"SELECT 1 FROM rs_withdrawn WHERE set_id = $1 LIMIT 1":                                                                                                                         "it stops at the first row",
	"SELECT count(*) FROM rs_withdrawn WHERE set_id = $1 AND at <= $2":                                                                                                             "a scan counts the deletions that wait, once",
	"SELECT topic_id, min(newest) FROM rs_request WHERE log_id = $1 AND ends = 0 AND newest IS NOT NULL GROUP BY topic_id":                                                         "limits bound the requests that await verification",
	"SELECT count(*), count(CASE WHEN client = $1 THEN 1 END), count(CASE WHEN host = $2 THEN 1 END), count(CASE WHEN topic_id = $3 THEN 1 END) FROM rs_request WHERE log_id = $4": "limits bound the requests that await verification",
	"SELECT set_id, key, body FROM rs_resource WHERE (set_id, key) > ($1, $2) AND body IS NOT NULL ORDER BY set_id, key LIMIT $3":                                                  "it stops after a batch, in the order of the primary key",
	"SELECT set_id, key, body FROM rs_withdrawn WHERE (set_id, key) > ($1, $2) AND body IS NOT NULL ORDER BY set_id, key LIMIT $3":                                                 "it stops after a batch, in the order of the primary key",
	"SELECT id FROM rs_pending ORDER BY id DESC LIMIT 1":                                                                                                                           "it stops at the first row, in the order of the primary key",
	"SELECT id FROM rs_pending ORDER BY id LIMIT 1":                                                                                                                                "it stops after a batch, in the order of the primary key",
	"SELECT recorded FROM rs_pending ORDER BY id LIMIT 1":                                                                                                                          "it stops at the first row, in the order of the primary key",
	"SELECT most FROM rs_window WHERE set_id = $1 AND most > $2 ORDER BY most LIMIT 1":                                                                                             "it stops at the first row of the primary key",
	"SELECT taken FROM rs_progress WHERE topic_id = $1 AND due IS NULL ORDER BY taken LIMIT 1":                                                                                     "it stops at the first row of an index",
	"WITH few AS (SELECT n.topic_id, n.number, n.size FROM rs_notification n WHERE n.topic_id = (SELECT id FROM rs_topic WHERE log_id = $1 AND uri = $2) AND n.number > $3 ORDER BY n.number LIMIT $4), sums AS (SELECT topic_id, number, sum(size) OVER (ORDER BY number) AS total, row_number() OVER (ORDER BY number) AS place FROM few) SELECT n.number, n.made, n.from_ns, n.until_ns, n.capability_list, n.body FROM sums s JOIN rs_notification n ON n.topic_id = s.topic_id AND n.number = s.number WHERE s.place = 1 OR s.total <= $5 ORDER BY s.number": "it sorts as many notifications as are asked for",
	"WITH ranked AS MATERIALIZED (SELECT id, row_number() OVER (PARTITION BY client ORDER BY id) AS rank FROM rs_request WHERE log_id = $1), free AS MATERIALIZED (SELECT p.id FROM ranked JOIN rs_request p ON p.log_id = $1 AND p.id = ranked.id WHERE p.due IS NULL OR p.due <= $now ORDER BY ranked.rank, p.id LIMIT $2) UPDATE rs_request SET owner = $3, due = $now + 30000000 WHERE log_id = $4 AND id IN (SELECT id FROM free) RETURNING id, (SELECT uri FROM rs_topic t WHERE t.id = topic_id), callback, host, client, ends, secret, lease, made":       "limits bound the requests that await verification",
}

// engineSpecific are the parts of statements in which the engines differ.
var engineSpecific = regexp.MustCompile(`CAST\((?:extract\(epoch FROM statement_timestamp\(\)\)|unixepoch\('subsec'\)) \* 1000000 AS bigint\)|FOR UPDATE(?: OF \w+)? SKIP LOCKED`)

// normalize returns a statement on one line, the same for both engines: with $now for
// the time of the database, and without row locks.
func normalize(sql string) string {
	sql = engineSpecific.ReplaceAllStringFunc(sql, func(part string) string {
		if strings.HasPrefix(part, "CAST") {
			return "$now"
		}
		return ""
	})
	return strings.NewReplacer(" )", ")", "( ", "(").Replace(strings.Join(strings.Fields(sql), " "))
}

// A finding is a defect of a plan.
type finding struct {
	s    statement
	what string
}

// report fails for each finding that is not allowed.
func (r *record) report(t *testing.T, found []finding, plans map[string]string) {
	t.Helper()
	for _, f := range found {
		sql := normalize(f.s.sql)
		if _, allowed := scans[sql]; !allowed {
			t.Errorf("%s: %s:\n%s\n%s", f.s.site, f.what, sql, plans[f.s.sql])
		}
		r.excused[sql] = true
	}
}

// narrow reports whether one of these columns selects less than all of a set, a topic
// or a hub.
func narrow(columns []string) bool {
	return slices.ContainsFunc(columns, func(c string) bool { return !slices.Contains(partitions, c) })
}

// aliases are the tables of the aliases in a statement.
func aliases(sql string) map[string]string {
	all := map[string]string{}
	for _, m := range regexp.MustCompile(`(rs_\w+) (?:AS )?([a-z])\b`).FindAllStringSubmatch(sql, -1) {
		all[m[2]] = m[1]
	}
	return all
}
