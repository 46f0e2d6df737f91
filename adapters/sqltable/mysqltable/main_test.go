package mysqltable_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestMain gives the examples a database of their own.
func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	const variable = "RESOURCESYNC_TEST_MYSQL"
	if server := os.Getenv(variable); server != "" {
		config, err := mysql.ParseDSN(server)
		if err != nil {
			log.Fatal(err)
		}
		config.DBName = "mysqltable_" + strings.ToLower(rand.Text())
		execute(server, "CREATE DATABASE "+config.DBName+" CHARACTER SET utf8mb4")
		defer execute(server, "DROP DATABASE "+config.DBName)
		os.Setenv("MYSQL_DSN", config.FormatDSN())
	}
	return needs.Examples(m, variable)
}

func execute(server, statement string) {
	db, err := sql.Open("mysql", server)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(context.Background(), statement); err != nil {
		log.Fatal(err)
	}
}
