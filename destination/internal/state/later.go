package state

import (
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync/internal/fetch"
)

// due is the condition of a pending change that needs no request before a time that has not come.
const due = "(later <= ? OR change = 'deleted')"

// Delayed records that a server has asked not to request a resource before a time. As
// after a failure, the change stays pending behind all others.
func (s *State) Delayed(seq int64, failure error, until time.Time) error {
	return s.exec("UPDATE pending SET error = ?, package = 0, later = ?, seq = (SELECT max(seq) + 1 FROM pending) WHERE seq = ?", failure.Error(), nanos(until), seq)
}

// LastDelayed returns the latest time, not after a limit, at which a delayed resource can be
// requested. It is zero if there is none.
func (s *State) LastDelayed(limit time.Time) (time.Time, error) {
	n, err := s.int("SELECT coalesce(max(later), 0) FROM pending WHERE later > 0 AND later > ? AND later <= ? AND "+unsettled, nanos(time.Now()), nanos(limit))
	return fromNanos(n), err
}

// AskEarly makes up to limit questions due now that would be asked again later. It begins with those
// that would be due first.
func (s *State) AskEarly(limit int) error {
	return s.exec("UPDATE pending SET later = 0 WHERE seq IN (SELECT seq FROM pending WHERE later > 0 AND later > ? AND NOT "+unsettled+" ORDER BY later LIMIT +?)", nanos(time.Now()), limit)
}

// PendingDelayed returns up to limit pending changes after a position whose time has come.
func (s *State) PendingDelayed(after int64, limit int) ([]Pending, error) {
	return s.pending("WHERE later > 0 AND later <= ? AND seq > ? ORDER BY seq LIMIT +?", nanos(time.Now()), after, limit)
}

// A Delay is a resource that is not requested before a time.
type Delay struct {
	URI, Error string
	Until      time.Time
}

// Delays returns up to limit delays, the shortest first.
func (s *State) Delays(limit int) (all []Delay, err error) {
	err = s.query("SELECT uri, error, later FROM pending WHERE later > 0 AND later > ? AND "+unsettled+" ORDER BY later LIMIT +?", func(row *sqlite.Stmt) error {
		all = append(all, Delay{row.ColumnText(0), row.ColumnText(1), fromNanos(row.ColumnInt64(2))})
		return nil
	}, nanos(time.Now()), limit)
	return all, err
}

// Pauses returns the pauses of hosts that have been saved.
func (s *State) Pauses() (all []fetch.Pause, err error) {
	err = s.query("SELECT host, until FROM pause", func(row *sqlite.Stmt) error {
		all = append(all, fetch.Pause{Host: row.ColumnText(0), Until: fromNanos(row.ColumnInt64(1))})
		return nil
	})
	return all, err
}

// SavePauses replaces the pauses of hosts.
func (s *State) SavePauses(all []fetch.Pause) error {
	err := s.exec("DELETE FROM pause")
	for _, p := range all {
		if err == nil {
			err = s.exec("INSERT OR REPLACE INTO pause (host, until) VALUES (?, ?)", p.Host, nanos(p.Until))
		}
	}
	return err
}
