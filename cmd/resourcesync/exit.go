package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"

	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

// The exit statuses. A supervisor may start a command again after exitFailed; after exitUsage,
// that is of no use before somebody has corrected something.
const (
	exitOK     = 0
	exitFailed = 1 // it could not run, or has failed
	exitUsage  = 2 // the command line or the configuration is wrong
)

// A statusError ends a command with an exit status of its own.
type statusError struct {
	error
	status int
}

func (e statusError) Unwrap() error { return e.error }

// exitStatus returns the exit status of a command that has returned err.
func exitStatus(err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[statusError](err); ok {
		return e.status
	}
	if _, ok := errors.AsType[settings.Error](err); ok && !passes(err) {
		return exitUsage
	}
	return exitFailed
}

// passes reports whether a failure may pass although the command line and the configuration
// stay as they are: it comes from the network, a server, a disk or another process.
func passes(err error) bool {
	if errors.Is(err, errInUse) || isFull(err) {
		return true
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return !wrongForPostgres(e.Code)
	}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return !wrongForMySQL[e.Number]
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultIOErr, sqlite.ResultNoMem, sqlite.ResultProtocol:
		return true
	}
	if e, ok := errors.AsType[*smithyhttp.ResponseError](err); ok { // of a bucket
		return e.HTTPStatusCode() >= 500
	}
	for _, passing := range []error{
		context.DeadlineExceeded, io.ErrUnexpectedEOF, driver.ErrBadConn, mysql.ErrInvalidConn,
		syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	if errors.Is(err, fs.ErrPermission) { // a port below 1024, for example
		return false
	}
	// Not net.Error, which every error of a system call is.
	_, refused := errors.AsType[*net.OpError](err)
	_, noName := errors.AsType[*net.DNSError](err)
	return refused || noName
}

// isFull reports whether a disk is full, or a limit for files is reached.
func isFull(err error) bool {
	return sqlite.ErrCode(err).ToPrimary() == sqlite.ResultFull || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EFBIG)
}

// wrongForPostgres reports whether an SQLSTATE says that a command line is wrong: the user,
// the password, the database, the schema, the table, a column or a right.
func wrongForPostgres(code string) bool {
	for _, class := range []string{"28", "3D", "3F", "42"} {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return false
}

// wrongForMySQL has the numbers of the same errors in MariaDB and MySQL.
var wrongForMySQL = map[uint16]bool{
	1044: true, // no right to the database
	1045: true, // user or password
	1049: true, // no such database
	1054: true, // no such column
	1064: true, // syntax, such as that of a condition
	1142: true, // no right to the table
	1143: true, // no right to the column
	1146: true, // no such table
}
