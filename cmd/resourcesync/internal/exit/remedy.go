package exit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// OfDatabase returns err, which a database has caused, in one line and with a remedy.
func OfDatabase(err error) error {
	if isNoDatabase(err) {
		return fmt.Errorf("%w; name a database of this server in its address", oneLine(err))
	}
	if Passes(err) {
		return fmt.Errorf("%w; is the database running, and does it accept connections of this computer? Start it, or correct its address", oneLine(err))
	}
	return oneLine(err)
}

// isNoDatabase reports whether the server says that it has no database of the given name.
func isNoDatabase(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "3D000"
	}
	e, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && e.Number == 1049
}

// oneLine returns err with a text of one line: errors of databases can have several, also the
// same one for each attempt.
func oneLine(err error) error { return lineError{err} }

type lineError struct{ error }

func (e lineError) Error() string {
	var words []string
	seen := make(map[string]bool)
	for line := range strings.Lines(e.error.Error()) {
		if line = strings.TrimSpace(line); line != "" && !seen[line] {
			seen[line] = true
			words = append(words, strings.Fields(line)...)
		}
	}
	return strings.Join(words, " ")
}

func (e lineError) Unwrap() error { return e.error }
