package sqlstore

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/coverage"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
)

// A database can lose its newest transactions: a standby takes over that did not have them, or a
// backup is restored. Readers may have seen changes of them. They would keep these changes for ever,
// and a new change could have a time that they have passed. So the journals start over, unless
// nothing is lost.
//
// Every process that runs the store has a row in the database. It knows the newest change that it
// has read, and looks for it. If all processes find theirs, the database has everything that
// anybody has seen, because transactions are lost from the end only. A process that does not answer
// may have died with the former server, and seen more than the others.

const (
	// historyInterval is the time between two checks of the history of the database,
	// and surviveInterval the time between two searches for the changes that this
	// process has seen.
	historyInterval = 2 * time.Second
	surviveInterval = 10 * time.Second
)

// A survival has what a process knows independently of the database.
type survival struct {
	mu       sync.Mutex
	journals map[int64][]*Journal

	checking sync.Mutex // held for a check, with what follows
	checked  time.Time  // the last check that found everything
	presence
}

func (v *survival) add(j *Journal) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.journals == nil {
		v.journals = map[int64][]*Journal{}
	}
	v.journals[j.id] = append(v.journals[j.id], j)
}

// seen returns the newest change of a set that this process has read, or 0.
func (v *survival) seen(set int64) (at int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, j := range v.journals[set] {
		at = max(at, j.seen.Load())
	}
	return at
}

// remembered is what this process has read of a set.
type remembered struct {
	name        string
	seen, found int64 // as in [Journal]
}

// all returns what this process has read, by the id of the set.
func (v *survival) all() map[int64]remembered {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := map[int64]remembered{}
	for id, journals := range v.journals {
		m := remembered{name: journals[0].name}
		for _, j := range journals {
			m.seen, m.found = max(m.seen, j.seen.Load()), max(m.found, j.found.Load())
		}
		all[id] = m
	}
	return all
}

// Restarted implements [scan.Restarter].
func (s *Set) Restarted() <-chan struct{} { return s.restarted }

// noteRestarted tells the journals of a set that they have started over.
func (v *survival) noteRestarted(set int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, j := range v.journals[set] {
		background.Signal(j.restarted)
	}
}

// survive checks the history of the database until ctx is done or a check fails.
func (s *Store) survive(ctx context.Context) error {
	for {
		if err := s.checkHistory(ctx); err != nil {
			return err
		}
		s.succeeded(ctx, "following")
		if err := background.Sleep(ctx, historyInterval); err != nil {
			return err
		}
	}
}

// A restart is a journal that starts over.
type restart struct {
	name    string
	seen    int64 // by this process
	missing int64 // what the database lacks
	reason  string
}

// checkHistory starts journals over if the database may lack changes that readers have seen. In
// most cases it only reads.
func (s *Store) checkHistory(ctx context.Context) error {
	v := &s.survival
	v.checking.Lock()
	defer v.checking.Unlock()
	history, err := s.db.History(ctx)
	if err != nil || !v.due(history) && time.Since(v.checked) < surviveInterval {
		return err
	}
	lost, err := v.lost(ctx, s.db, history)
	if err != nil {
		return err
	}
	if len(lost) > 0 || v.due(history) {
		err = s.db.Update(ctx, func(c rowdb.Conn) (err error) {
			if lost, err = v.lost(ctx, c, history); err != nil {
				return err
			}
			if err = s.answer(ctx, c, history, lost); err == nil && len(lost) > 0 {
				err = s.restart(ctx, c, lost)
			}
			return err
		})
		if err != nil {
			return err
		}
		v.answered(history)
	}
	for id, r := range lost {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the journal starts over, because changes may be lost: every Destination compares its copy",
			slog.String("set", r.name), slog.String("because", r.reason))
		v.noteRestarted(id)
	}
	v.checked = time.Now()
	return nil
}

// lost returns the sets that lack the newest change that this process has read. The statements of q
// must see everything that was committed before the call.
//
// A state can have a time without a change, when resources are withdrawn. Then nothing shows later
// that the database has had it, so in the same history such a time is lost only if the set is older.
func (v *survival) lost(ctx context.Context, q rowdb.Querier, history string) (map[int64]restart, error) {
	all := v.all()
	lost := map[int64]restart{}
	err := q.Query(ctx, "SELECT id, name, since, last FROM rs_set", func(r rowdb.Row) error {
		id, since, last := r.Int(0), r.Int(2), r.Int(3)
		m, opened := all[id]
		if !opened || m.name != rowdb.String(r, 1) {
			return nil
		}
		delete(all, id)
		at := m.found
		if m.seen > last || v.history != "" && history != v.history {
			at = m.seen
		}
		if at > since && at != last {
			lost[id] = restart{name: m.name, seen: m.seen, missing: at,
				reason: "the database was restored, or another server has taken over: it lacks the change of " + timetext.Of(moment(at)) + ", which was published"}
		}
		return nil
	})
	for _, m := range all {
		if err == nil {
			err = fmt.Errorf("the database has lost the set %q: restart this process", m.name)
		}
	}
	for id, r := range lost {
		var found bool
		if err == nil {
			found, err = coverage.Has(ctx, q, id, moment(r.missing))
		}
		if found {
			delete(lost, id)
		}
	}
	return lost, err
}

// restart starts journals over, after everything that this process has read.
func (s *Store) restart(ctx context.Context, c rowdb.Conn, journals map[int64]restart) error {
	if err := s.numberAll(ctx, c); err != nil {
		return err
	}
	for id, r := range journals {
		if _, err := coverage.Restart(ctx, c, id, s.now(), moment(r.seen), r.reason); err != nil {
			return err
		}
	}
	return nil
}
