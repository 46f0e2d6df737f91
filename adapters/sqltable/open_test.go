package sqltable

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/providertest"
)

// TestRefusals: Open refuses an unsuitable table, and says what to do.
func TestRefusals(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, d *database) {
		d.run(`CREATE TABLE good (id {int} NOT NULL PRIMARY KEY, word {text} NOT NULL UNIQUE, other {other} NOT NULL UNIQUE, maybe {text} UNIQUE, loose {text} NOT NULL, at {time})`,
			"CREATE VIEW sorted AS SELECT * FROM good")
		const uri = "https://example.org/{id}"
		for name, tt := range map[string]struct {
			table Table
			want  string // after a colon, on one engine only
		}{
			"good":            {Table{Name: "good", Key: "id", URI: uri}, ""},
			"text":            {Table{Name: "good", Key: "word", URI: uri}, ""},
			"view":            {Table{Name: "sorted", Key: "id", URI: uri}, ""},
			"query":           {Table{Query: "SELECT id, at FROM good -- all", Key: "id", URI: uri, LastModified: "at"}, ""},
			"no name":         {Table{Key: "id", URI: uri}, "either Name or Query"},
			"both names":      {Table{Name: "good", Query: "SELECT 1", Key: "id", URI: uri}, "either Name or Query"},
			"no key":          {Table{Name: "good", URI: uri}, "Key column"},
			"no template":     {Table{Name: "good", Key: "id"}, "names no column"},
			"NUL":             {Table{Name: "go\x00od", Key: "id", URI: uri}, "cannot be a name"},
			"unit":            {Table{Name: "good", Key: "id", URI: uri, Unit: time.Hour}, "time.Millisecond"},
			"hash":            {Table{Name: "good", Key: "id", URI: uri, Hashes: map[string]string{"md5:": "word"}}, "unknown hash algorithm"},
			"another name":    {Table{Name: "good", Key: "id", URI: uri, Hashes: map[string]string{"sha256": "word"}}, "sha-256"},
			"missing table":   {Table{Name: "bad", Key: "id", URI: uri}, "Name: there is no such table"},
			"missing schema":  {Table{Schema: "bad", Name: "good", Key: "id", URI: uri}, "Name: there is no such table"},
			"missing column":  {Table{Name: "good", Key: "i", URI: uri}, "the columns are id, word"},
			"missing in URI":  {Table{Name: "good", Key: "id", URI: "https://example.org/{slug}"}, `no column "slug"`},
			"type of length":  {Table{Name: "good", Key: "id", URI: uri, Length: "word"}, "cannot be Length"},
			"bad query":       {Table{Query: "SELECT FROM WHERE", Key: "id", URI: uri}, "syntax"},
			"bad condition":   {Table{Name: "good", Key: "id", URI: uri, Where: "nonsense = 1"}, "nonsense"},
			"not unique":      {Table{Name: "good", Key: "loose", URI: uri}, "CREATE UNIQUE INDEX"},
			"may be NULL":     {Table{Name: "good", Key: "maybe", URI: uri}, "NOT NULL"},
			"order of locale": {Table{Name: "good", Key: "other", URI: uri}, map[string]string{"postgres": `COLLATE "C"`, "sqlite": "COLLATE BINARY", "mysql": "utf8mb4_nopad_bin"}[d.name]},
			"unsorted view":   {Table{Name: "sorted", Key: "other", URI: uri}, map[string]string{"postgres": `COLLATE "C"`, "sqlite": "COLLATE BINARY", "mysql": ""}[d.name]},
		} {
			if d.name == "mysql" && name == "unsorted view" {
				tt.want = "utf8mb4_nopad_bin"
			}
			_, err := d.open(t.Context(), tt.table)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %q", name, err, tt.want)
			}
		}
	})
}

// The index that an error recommends makes the table usable.
func TestIndexByBytes(t *testing.T) {
	for _, engine := range []func(testing.TB) *database{postgresDatabase, sqliteDatabase} {
		d := engine(t)
		d.run("CREATE TABLE words (word {other} NOT NULL UNIQUE)", "INSERT INTO words VALUES ('b'), ('A'), ('é'), ('C')")
		table := Table{Name: "words", Key: "word", URI: "https://example.org/{word}"}
		_, err := d.open(t.Context(), table)
		_, advice, _ := strings.Cut(fmt.Sprint(err), "CREATE")
		d.run("CREATE" + strings.ReplaceAll(advice, "a_name", "by_bytes"))
		if got := keysOf(list(t, d.provider(table), resourcesync.Range{From: "B"})); got != "C b é" {
			t.Errorf("%s: %s", d.name, got)
		}
	}
}

func TestPostgresModes(t *testing.T) {
	config, err := pgxpool.ParseConfig(needs.Variable(t, "RESOURCESYNC_TEST_POSTGRES"))
	must(t, err)
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	must(t, err)
	defer pool.Close()
	if _, err := OpenPostgres(t.Context(), pool, things); err == nil || !strings.Contains(err.Error(), "DescribeExec") {
		t.Error(err)
	}
}

// TestIntegers runs the contract on keys with a limited range, and reads the whole
// range.
func TestIntegers(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, d *database) {
		d.run(`CREATE TABLE papers (id {int} NOT NULL PRIMARY KEY, slug {plain} NOT NULL, ms {int}, gone {int}, md5 {bytes}, sha {plain})`)
		n := 0
		insert := func(id int64, slug string, more string) resourcesync.Resource {
			n++
			d.run(fmt.Sprintf("INSERT INTO papers VALUES (%d, '%s', %d, %s, NULL, 'ABCDEF')", id, slug, 1_700_000_000_000+int64(n), more))
			return resourcesync.Resource{
				Key: string(appendInteger(nil, id)), URI: "https://example.org/" + url.PathEscape(slug) + fmt.Sprintf("/%d", id),
				LastModified: time.UnixMilli(1_700_000_000_000 + int64(n)).UTC(), Hashes: []resourcesync.Hash{{Algorithm: "sha-1", Digest: "abcdef"}},
			}
		}
		var want []resourcesync.Resource
		for _, id := range []int64{-9223372036854775807, -10, -9, -1, 0, 1, 2, 9, 10, 99, 100, 9223372036854775807} {
			want = append(want, insert(id, "a b", "NULL"))
		}
		insert(50, "gone", "1")
		insert(51, "hidden", "0")
		table := Table{
			Name: "papers", Key: "id", URI: "https://example.org/{slug}/{id}", LastModified: "ms", Unit: time.Millisecond, Deleted: "gone",
			Hashes: map[string]string{"md5": "md5", "sha-1": "sha"}, Where: "papers.slug <> 'hidden'",
		}
		p := d.provider(table)
		stater, err := p.Stater()
		must(t, err)
		must(t, providertest.Test(t.Context(), p, &providertest.Options{Want: want, Stater: stater}))
		if st, err := stater.Stat(t.Context(), resourcesync.Range{}); err != nil || st.Count != 12 || !st.LastModified.IsZero() {
			t.Errorf("%+v, %v", st, err)
		}
		for path, covered := range map[string]bool{
			"/a%20b/10": true, "/a%20b/010": false, "/a%20b/11": false, "/a%20b/10/": false, "/gone/50": false, "/hidden/51": false,
			"/a+b/10": false, "/a%20b/x": false, "/a%20b/10?x=1": false, "/": false, "": false, "/a%2520b/10": false, "/%61%20b/10": true,
		} {
			u, err := url.Parse(path)
			must(t, err)
			if got := p.Covers(u); got != covered {
				t.Errorf("%q is covered: %v", path, got)
			}
		}
		if _, err := d.provider(Table{Name: "papers", Key: "id", URI: "https://example.org/{id}"}).Stater(); err == nil {
			t.Error("a Stater without LastModified")
		}
	})
}

func TestPostgresTypes(t *testing.T) {
	t.Parallel()
	d := postgresDatabase(t)
	d.run(`CREATE DOMAIN webpath AS varchar(20)`, `CREATE TYPE kind AS ENUM ('text/html', 'image/png')`,
		`CREATE TABLE papers (id uuid PRIMARY KEY, n smallint, path webpath, kind kind, at timestamp, day date, gone boolean, sum bytea)`,
		`INSERT INTO papers VALUES ('00000000-0000-0000-0000-00000000000a', -3, 'a/b', 'image/png', '2026-03-01 12:00:00.000001', '2026-03-01', NULL, '\x00ff'),
			('ffffffff-0000-0000-0000-000000000001', 3, 'x', NULL, 'infinity', '-infinity', false, NULL),
			('eeeeeeee-0000-0000-0000-000000000001', 3, 'x', NULL, NULL, NULL, true, NULL),
			('dddddddd-0000-0000-0000-000000000001', 3, NULL, NULL, NULL, NULL, NULL, NULL)`)
	first := resourcesync.Resource{
		Key: "00000000-0000-0000-0000-00000000000a", URI: "https://example.org/a/b/-3/00000000-0000-0000-0000-00000000000a", Type: "image/png",
		LastModified: time.Date(2026, 3, 1, 12, 0, 0, 1000, time.UTC), Hashes: []resourcesync.Hash{{Algorithm: "md5", Digest: "00ff"}},
	}
	second := resourcesync.Resource{Key: "ffffffff-0000-0000-0000-000000000001", URI: "https://example.org/x/3/ffffffff-0000-0000-0000-000000000001"}
	table := Table{
		Name: "papers", Key: "id", URI: "https://example.org/{+path}/{n}/{id}", LastModified: "at", Type: "kind", Deleted: "gone",
		Hashes: map[string]string{"md5": "sum"},
	}
	must(t, providertest.Test(t.Context(), d.provider(table), &providertest.Options{Want: []resourcesync.Resource{first, second}}))
	table.LastModified = "day"
	first.LastModified = first.LastModified.Truncate(24 * time.Hour)
	must(t, providertest.Test(t.Context(), d.provider(table), &providertest.Options{Want: []resourcesync.Resource{first, second}}))
	// The triggers produce the same keys.
	d.journal(table, "papers")
	d.run("INSERT INTO papers SELECT 'aaaaaaaa-0000-0000-0000-000000000001', n, path, kind, at, day, gone, sum FROM papers WHERE sum IS NOT NULL", "UPDATE papers SET n = n + 1")
	if err := sameSet(t, replay(d.pending()), d.provider(table)); err != nil {
		t.Error(err)
	}
}

// TestMySQLKeys: an integer beyond int64 does not become another number, and text in a
// character set other than UTF-8 is refused as a key, regardless of the suffix of its
// collation's name.
func TestMySQLKeys(t *testing.T) {
	t.Parallel()
	d := mysqlDatabase(t)
	d.run("CREATE TABLE large (id BIGINT UNSIGNED NOT NULL PRIMARY KEY, bytes BIGINT UNSIGNED)", "INSERT INTO large VALUES (1, NULL), (9223372036854775807, 1)")
	table := Table{Name: "large", Key: "id", URI: "https://example.org/{bytes}/{id}", Length: "bytes"}
	p := d.provider(table)
	if got := keysOf(list(t, p, resourcesync.Range{})); got != "9223372036854775807" {
		t.Error(got)
	}
	d.run("UPDATE large SET bytes = 18446744073709551615", "INSERT INTO large VALUES (18446744073709551614, 1), (18446744073709551615, 1)")
	for _, read := range []func() []resourcesync.Resource{
		func() []resourcesync.Resource { return list(t, p, resourcesync.Range{}) },
		func() []resourcesync.Resource {
			return slices.Collect(resourcesOf(t, d.list(table).Resources(t.Context())))
		},
	} {
		all := read()
		if len(all) != 2 || all[0].URI != "https://example.org/18446744073709551615/1" || all[0].Length != (resourcesync.Length{}) {
			t.Errorf("%+v", all)
		}
	}
	if got := p.Omitted(); got != (Omitted{Rows: 2, Fields: 2}) {
		t.Errorf("%+v", got)
	}
	if cuts, err := p.Cuts(t.Context(), nil, 1); len(cuts) != 2 || err != nil {
		t.Errorf("%+v, %v", cuts, err)
	}
	for _, charset := range []string{"latin1", "ascii", "utf8mb3"} {
		d.run(fmt.Sprintf("CREATE TABLE %s (k VARCHAR(100) CHARACTER SET %[1]s COLLATE %[1]s_nopad_bin NOT NULL PRIMARY KEY)", charset))
		_, err := d.open(t.Context(), Table{Name: charset, Key: "k", URI: "https://example.org/{k}"})
		if err == nil || !strings.Contains(err.Error(), "COLLATE utf8mb4_nopad_bin") {
			t.Errorf("%s: %v", charset, err)
		}
	}
}

// A view may hide that its key is not unique. Reading it then fails.
func TestKeyTwice(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, d *database) {
		d.run("CREATE TABLE papers (id {int} NOT NULL, n {int} NOT NULL, PRIMARY KEY (id, n))", "INSERT INTO papers VALUES (1, 1), (2, 1), (2, 2), (3, 1)",
			"CREATE VIEW twice AS SELECT * FROM papers")
		p := d.provider(Table{Name: "twice", Key: "id", URI: "https://example.org/{id}"})
		n := 0
		var last error
		for _, err := range p.Resources(t.Context(), resourcesync.Range{}) {
			n++
			last = err
		}
		if n != 3 || last == nil || !strings.Contains(last.Error(), "must be unique") {
			t.Errorf("%d, %v", n, last)
		}
		for every := range 5 {
			// Not every page size makes Cuts compare the duplicates.
			if _, err := p.Cuts(t.Context(), nil, every+1); every == 1 && (err == nil || !strings.Contains(err.Error(), "must be unique")) {
				t.Errorf("pages of %d: %v", every+1, err)
			}
		}
	})
}

func TestContextEnds(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, d *database) {
		d.run("CREATE TABLE papers (id {int} NOT NULL PRIMARY KEY)")
		p := d.provider(Table{Name: "papers", Key: "id", URI: "https://example.org/{id}"})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Cuts(ctx, nil, 10); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		for _, err := range p.Resources(ctx, resourcesync.Range{}) {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
}
