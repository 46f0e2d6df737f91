// Package exit distinguishes mistakes in the command line and the configuration from failures
// that may pass, and has the exit statuses for them.
package exit

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

// The exit statuses. A supervisor may restart a command after Failed; after Usage,
// the cause must be corrected first.
const (
	OK     = 0
	Failed = 1 // it could not run, or has failed
	Usage  = 2 // the command line or the configuration is wrong
)

// A statusError ends a command with an exit status of its own.
type statusError struct {
	error
	status int
}

func (e statusError) Unwrap() error { return e.error }

// With returns err as an error that ends a command with this exit status.
func With(err error, status int) error { return statusError{err, status} }

// Status returns the exit status of a command that has returned err.
func Status(err error) int {
	if err == nil {
		return OK
	}
	if e, ok := errors.AsType[statusError](err); ok {
		return e.status
	}
	if _, ok := errors.AsType[settings.Error](err); ok && !Passes(err) {
		return Usage
	}
	return Failed
}

// ErrInUse is the error of a state that another process is using.
var ErrInUse = errors.New("is in use by another resourcesync")

// Passes reports whether a failure may pass without a change of the command line or the
// configuration: it comes from the network, a server, a disk or another process.
func Passes(err error) bool {
	if errors.Is(err, ErrInUse) || IsFull(err) {
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

// IsFull reports whether a disk is full, or a limit for files is reached.
func IsFull(err error) bool {
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
	1064: true, // syntax, such as the syntax of a condition
	1142: true, // no right to the table
	1143: true, // no right to the column
	1146: true, // no such table
}
