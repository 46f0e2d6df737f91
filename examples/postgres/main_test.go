package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/resourcesync-go/resourcesync/examples/internal/tour"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// example returns the example over a schema of this test.
func example(t *testing.T) tour.Run {
	t.Helper()
	db, err := url.Parse(needs.Variable(t, "RESOURCESYNC_TEST_POSTGRES"))
	if err != nil {
		t.Fatal(err)
	}
	schema := strings.ToLower(fmt.Sprintf("example_%s_%d", t.Name(), os.Getpid()))
	conn, err := pgx.Connect(t.Context(), db.String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "CREATE SCHEMA "+schema); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, "DROP SCHEMA "+schema+" CASCADE"); err != nil {
			t.Error(err)
		}
	})
	q := db.Query()
	q.Set("search_path", schema)
	db.RawQuery = q.Encode()
	return func(ctx context.Context, ln net.Listener, own *hub.Options) error {
		return run(ctx, ln, db.String(), "http://"+ln.Addr().String(), own)
	}
}

func TestTour(t *testing.T) { example(t).Take(t) }

func TestRefusals(t *testing.T) { example(t).Refuse(t) }
