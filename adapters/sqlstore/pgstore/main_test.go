package pgstore_test

import (
	"context"
	"crypto/rand"
	"log"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/pgdb"
)

// TestMain gives the examples a schema of their own.
func TestMain(m *testing.M) {
	pgdb.StandbyTimeout = needs.Patience
	os.Exit(run(m))
}

func run(m *testing.M) int {
	const variable = "RESOURCESYNC_TEST_POSTGRES"
	if server := os.Getenv(variable); server != "" {
		schema := "pgstore_" + strings.ToLower(rand.Text())
		execute(server, "CREATE SCHEMA "+schema)
		defer execute(server, "DROP SCHEMA "+schema+" CASCADE")
		u, err := url.Parse(server)
		if err != nil {
			log.Fatal(err)
		}
		q := u.Query()
		q.Set("search_path", schema)
		u.RawQuery = q.Encode()
		os.Setenv("DATABASE_URL", u.String())
	}
	return needs.Examples(m, variable)
}

func execute(server, statement string) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		log.Fatal(err)
	}
}
