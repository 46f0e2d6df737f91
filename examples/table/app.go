package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync"
)

// An app is the application: papers in a table that can be written, read and deleted.
type app struct {
	http.ServeMux
	db *sqlitex.Pool
}

const schema = `CREATE TABLE IF NOT EXISTS paper (
	name    TEXT NOT NULL PRIMARY KEY,
	text    TEXT NOT NULL,
	sha256  TEXT NOT NULL,
	updated INTEGER NOT NULL
) WITHOUT ROWID`

func openApp(ctx context.Context, file string) (*app, error) {
	db, err := sqlitex.NewPool(file, sqlitex.PoolOptions{PoolSize: 20})
	if err != nil {
		return nil, err
	}
	a := &app{db: db}
	if err := a.exec(ctx, schema, nil); err != nil {
		db.Close()
		return nil, err
	}
	a.HandleFunc("GET /papers/{name}", a.get)
	a.HandleFunc("PUT /papers/{name}", a.put)
	a.HandleFunc("DELETE /papers/{name}", a.delete)
	return a, nil
}

func (a *app) exec(ctx context.Context, sql string, row func(*sqlite.Stmt) error, args ...any) error {
	conn, err := a.db.Take(ctx)
	if err != nil {
		return err
	}
	defer a.db.Put(conn)
	return sqlitex.Execute(conn, sql, &sqlitex.ExecOptions{Args: args, ResultFunc: row})
}

// read returns a paper, or fs.ErrNotExist.
func (a *app) read(ctx context.Context, name string) (text string, updated time.Time, err error) {
	found := false
	err = a.exec(ctx, "SELECT text, updated FROM paper WHERE name = ?", func(s *sqlite.Stmt) error {
		text, updated, found = s.ColumnText(0), time.Unix(s.ColumnInt64(1), 0), true
		return nil
	}, name)
	if err == nil && !found {
		err = fs.ErrNotExist
	}
	return text, updated, err
}

func (a *app) get(w http.ResponseWriter, r *http.Request) {
	text, updated, err := a.read(r.Context(), r.PathValue("name"))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	http.ServeContent(w, r, "", updated, strings.NewReader(text))
}

func (a *app) put(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "a paper has at most 1 MiB", http.StatusRequestEntityTooLarge)
		return
	}
	sum := sha256.Sum256(body)
	a.done(w, a.exec(r.Context(), `INSERT INTO paper (name, text, sha256, updated) VALUES (?1, ?2, ?3, unixepoch())
		ON CONFLICT (name) DO UPDATE SET text = excluded.text, sha256 = excluded.sha256, updated = excluded.updated`,
		nil, r.PathValue("name"), string(body), hex.EncodeToString(sum[:])))
}

func (a *app) delete(w http.ResponseWriter, r *http.Request) {
	a.done(w, a.exec(r.Context(), "DELETE FROM paper WHERE name = ?", nil, r.PathValue("name")))
}

func (a *app) done(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, "the paper cannot be written", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// content opens the content of papers for dumps.
type content struct{ *app }

// Open implements [resourcesync.Opener].
func (c content) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	text, _, err := c.read(ctx, r.Key)
	return io.NopCloser(strings.NewReader(text)), err
}
