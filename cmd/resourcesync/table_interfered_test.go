package main

import (
	"context"
	cryptorand "crypto/rand"
	gosql "database/sql"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// An interfered is a table that others interfere with while it is published, with a
// Destination behind it.
type interfered struct {
	*tableEngine
	t       *testing.T
	rnd     *rand.Rand
	listen  string // the address of the program
	website *httptest.Server
	where   string
	witness string
	copy    string
	size    int    // of the next row: each version has its own
	backup  string // a copy of the database; "" if there is none
	saved   int64  // when the state of the journal in the copy last moved
	columns int    // that were added
	s       *served
}

// admin runs statements about databases.
func (i *interfered) admin(statements ...string) {
	i.t.Helper()
	db, err := gosql.Open("pgx", needs.Variable(i.t, postgres))
	must(i.t, err)
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(context.WithoutCancel(i.t.Context()), s); err != nil {
			i.t.Fatalf("%s: %v", s, err)
		}
	}
}

// own gives a test a database of its own, which can be restored.
func own(t *testing.T, e *tableEngine) {
	t.Helper()
	server := needs.Variable(t, postgres)
	u, err := url.Parse(server)
	must(t, err)
	name := "interfered_" + strings.ToLower(cryptorand.Text())
	i := &interfered{t: t, tableEngine: e}
	i.admin("CREATE DATABASE " + name)
	u.Path = "/" + name
	e.flag, e.state, e.dsn[1] = u.String(), u.String(), u.String()
	must(t, e.db.Close())
	e.db, err = gosql.Open("pgx", e.dsn[1])
	must(t, err)
	t.Cleanup(func() {
		i.admin("DROP DATABASE IF EXISTS "+name+"_backup", "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	})
	e.exec(t, createPosts)
}
