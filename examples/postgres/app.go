package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync"
)

// An app is the application: papers in a table that can be written, read and deleted.
type app struct {
	http.ServeMux
	db *pgxpool.Pool
}

// The key has the order of bytes (COLLATE "C"). The database computes length and sha256, so
// they are right whichever program writes.
const schema = `CREATE TABLE IF NOT EXISTS paper (
	name    TEXT COLLATE "C" PRIMARY KEY,
	content BYTEA NOT NULL,
	length  BIGINT GENERATED ALWAYS AS (octet_length(content)) STORED,
	sha256  BYTEA GENERATED ALWAYS AS (sha256(content)) STORED,
	updated TIMESTAMPTZ NOT NULL DEFAULT now()
)`

func openApp(ctx context.Context, db *pgxpool.Pool) (*app, error) {
	if _, err := db.Exec(ctx, schema); err != nil {
		return nil, err
	}
	a := &app{db: db}
	a.HandleFunc("GET /papers/{name}", a.get)
	a.HandleFunc("PUT /papers/{name}", a.put)
	a.HandleFunc("DELETE /papers/{name}", a.delete)
	return a, nil
}

// read returns a paper, or fs.ErrNotExist.
func (a *app) read(ctx context.Context, name string) (content []byte, updated time.Time, err error) {
	err = a.db.QueryRow(ctx, "SELECT content, updated FROM paper WHERE name = $1", name).Scan(&content, &updated)
	if errors.Is(err, pgx.ErrNoRows) {
		err = fs.ErrNotExist
	}
	return content, updated, err
}

func (a *app) get(w http.ResponseWriter, r *http.Request) {
	text, updated, err := a.read(r.Context(), r.PathValue("name"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.NotFound(w, r)
	case err != nil:
		http.Error(w, "the paper cannot be read", http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		http.ServeContent(w, r, "", updated, bytes.NewReader(text))
	}
}

func (a *app) put(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "a paper has at most 1 MiB", http.StatusRequestEntityTooLarge)
		return
	}
	_, err = a.db.Exec(r.Context(), `INSERT INTO paper (name, content) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET content = excluded.content, updated = now()`, r.PathValue("name"), body)
	done(w, err)
}

func (a *app) delete(w http.ResponseWriter, r *http.Request) {
	_, err := a.db.Exec(r.Context(), "DELETE FROM paper WHERE name = $1", r.PathValue("name"))
	done(w, err)
}

func done(w http.ResponseWriter, err error) {
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
	return io.NopCloser(bytes.NewReader(text)), err
}
