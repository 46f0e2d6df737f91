// Package seam has the functions of package sqlstore that the packages of engines and package
// sqltable need, and applications do not. Package sqlstore, which this package cannot import,
// sets the functions.
package seam

import (
	"context"
	"io/fs"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

var (
	// OpenStore returns the *sqlstore.Store in db. opts is a *sqlstore.Options, which may
	// be nil. migrations contains the migrations of the engine of db, in the folder "migrations".
	// Closing the store closes db, as does an error.
	OpenStore func(ctx context.Context, db rowdb.DB, migrations fs.FS, opts any) (store any, err error)

	// ReadFrom lets a *sqlstore.Store read lists from a standby of its database.
	ReadFrom func(ctx context.Context, store any, standby rowdb.Standby)

	// Number numbers all changes that are pending in the store of a *sqlstore.Journal, in a
	// transaction on its tables.
	Number func(ctx context.Context, journal any, c rowdb.Conn) error

	// Leave judges the rows in rs_leaving of a *sqlstore.Journal, in a transaction on the
	// tables of its store, and returns how many deletions are held. limits is a
	// *scan.SetOptions. listed is the number of rows that the table had, and created the
	// number of those that it has in addition. The state of the journal moves in any case,
	// because the lists change at once.
	Leave func(ctx context.Context, journal any, c rowdb.Conn, limits any, listed, created int64) (held int64, err error)
)

// As returns v as a *T, or err.
func As[T any](v any, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return v.(*T), nil
}
