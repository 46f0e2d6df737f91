package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A writer changes resources all the time, and knows what they must be in the end.
type writer struct {
	truth map[string]string // contents by path below the site
	put   func(n int, text string) error
	drop  func(n int) error
	path  string // with a verb for the number of a resource
	most  int    // resources that exist at a time, at most
	done  int
}

// write makes random changes until ctx ends. A change whose outcome is unknown is made again, which
// changes nothing if it was made.
func (w *writer) write(ctx context.Context, every time.Duration) {
	for ctx.Err() == nil {
		w.change()
		w.done++
		time.Sleep(every)
	}
}

func (w *writer) change() {
	n := rand.IntN(w.most)
	path := fmt.Sprintf(w.path, n)
	change := func() error { return w.drop(n) }
	if _, exists := w.truth[path]; !exists || rand.IntN(4) > 0 {
		text := fmt.Sprintf("%s, version %d %s", path, w.done, strings.Repeat("and more ", rand.IntN(200)))
		w.truth[path] = text
		change = func() error { return w.put(n, text) }
	} else {
		delete(w.truth, path)
	}
	for change() != nil {
		time.Sleep(50 * time.Millisecond)
	}
}

// newFileWriter returns a writer of files.
func newFileWriter(t *testing.T, folder string) *writer {
	elsewhere := filepath.Join(t.TempDir(), "file")
	name := func(n int) string { return filepath.Join(folder, fmt.Sprintf("%d.txt", n)) }
	return &writer{
		truth: map[string]string{}, path: "files/%d.txt", most: 300,
		put: func(n int, text string) error {
			if err := os.WriteFile(elsewhere, []byte(text), 0o644); err != nil {
				return err
			}
			return os.Rename(elsewhere, name(n))
		},
		drop: func(n int) error { return os.Remove(name(n)) },
	}
}

// rowsTable is a table of the host, whose rows are pages of its website.
const rowsTable = `CREATE TABLE pages (id bigint PRIMARY KEY, content text NOT NULL, length bigint NOT NULL, hash text NOT NULL, changed timestamptz NOT NULL)`

// newRowWriter returns a writer of rows.
func newRowWriter(db *pgxpool.Pool) *writer {
	execute := func(sql string, args ...any) error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, err := db.Exec(ctx, sql, args...)
		return err
	}
	return &writer{
		truth: map[string]string{}, path: "pages/%d", most: 700,
		put: func(n int, text string) error {
			return execute(`INSERT INTO pages VALUES ($1, $2, $3, $4, clock_timestamp()) ON CONFLICT (id) DO UPDATE
				SET content = excluded.content, length = excluded.length, hash = excluded.hash, changed = excluded.changed`,
				n, text, len(text), fmt.Sprintf("%x", sha256.Sum256([]byte(text))))
		},
		drop: func(n int) error { return execute(`DELETE FROM pages WHERE id = $1`, n) },
	}
}

// A website serves the rows as pages.
func website(db *pgxpool.Pool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /pages/{id}", func(w http.ResponseWriter, r *http.Request) {
		rows, err := db.Query(r.Context(), `SELECT content FROM pages WHERE id::text = $1`, r.PathValue("id"))
		var texts []string
		if err == nil {
			texts, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		switch {
		case err != nil:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
		case len(texts) == 0:
			http.NotFound(w, r)
		default:
			fmt.Fprint(w, texts[0])
		}
	})
	return mux
}

// table returns the rows by their paths.
func table(t *testing.T, db *pgxpool.Pool) map[string]string {
	t.Helper()
	rows, err := db.Query(t.Context(), `SELECT 'pages/' || id || ' ' || content FROM pages`)
	must(t, err)
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	pages := map[string]string{}
	for _, text := range texts {
		path, content, _ := strings.Cut(text, " ")
		pages[path] = content
	}
	return pages
}
