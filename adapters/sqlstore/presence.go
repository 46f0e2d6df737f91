package sqlstore

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

const (
	// answerTimeout is the time in which the processes must state that they miss nothing.
	answerTimeout = 10 * time.Second

	// renewInterval is the time between two renewals of the row of a process. Rows that were not
	// renewed for forgetAfter belong to processes that have died. The changes that these had
	// seen were committed before their rows are removed, so a database without the rows has the
	// changes.
	renewInterval = time.Minute
	forgetAfter   = 5 * time.Minute

	// The owner and the keys of the notes of the store itself.
	storeOwner  = "resourcesync store"
	historyNote = "history" // in which the journals are complete
	processNote = "process "
)

// A presence is a process in the database: a note with the newest history in which the process
// misses nothing.
type presence struct {
	key     string    // of the note; "" before the first
	history string    // in which the journals are known to be complete
	renewed time.Time // when the note was written last
	waiting time.Time // since when other processes have not answered; zero if all have
}

// due reports whether this process must read the notes, and renew its own.
func (p *presence) due(history string) bool {
	return history != "" && (history != p.history || time.Since(p.renewed) > renewInterval)
}

// answered notes that the transaction of [Store.answer] has been committed.
func (p *presence) answered(history string) {
	switch {
	case history == "" || history == p.history:
		p.renewed = time.Now()
	case p.waiting.IsZero():
		p.history, p.renewed = history, time.Now()
	}
}

// answer writes that this process, unless some of its changes are lost, misses nothing in a
// history. It adds all sets to lost if that history is new, and if it cannot be known whether
// anything is lost.
func (s *Store) answer(ctx context.Context, c rowdb.Conn, history string, lost map[int64]restart) error {
	v := &s.survival
	if !v.due(history) {
		return nil
	}
	if v.key == "" {
		v.key = processNote + rand.Text()
	}
	notes, err := rowdb.All(ctx, c, func(r rowdb.Row) [2]string { return [2]string{rowdb.String(r, 0), rowdb.String(r, 1)} },
		"SELECT key, value FROM rs_note WHERE owner = $1", []byte(storeOwner))
	if err != nil {
		return err
	}
	var former string
	var answered, dead, silent []string
	for _, note := range notes {
		in, renewed, _ := strings.Cut(note[1], " ")
		at, _ := time.Parse(time.RFC3339, renewed)
		switch {
		case note[0] == historyNote:
			former = note[1]
		case note[0] == v.key || in == history:
			answered = append(answered, note[0])
			if note[0] != v.key && time.Since(at) > forgetAfter {
				dead = append(dead, note[0])
			}
		default:
			silent = append(silent, note[0])
		}
	}
	if former != "" && former != history {
		if len(silent) > 0 && (v.waiting.IsZero() || time.Since(v.waiting) < answerTimeout) {
			if v.waiting.IsZero() {
				v.waiting = time.Now()
			}
			if len(answered) == 0 {
				return nil // the former history does not know this process, so its answer says nothing
			}
			return v.put(ctx, c, v.key, history+" "+time.Now().UTC().Format(time.RFC3339))
		}
		if len(silent) > 0 || len(answered) == 0 {
			if err := s.addAll(ctx, c, lost, "another database server has taken over, or the database was restored, and not every process has said what it had published: "+former+" became "+history); err != nil {
				return err
			}
		}
	}
	v.waiting = time.Time{}
	for _, key := range append(dead, silent...) {
		if _, err := c.Exec(ctx, "DELETE FROM rs_note WHERE owner = $1 AND key = $2", []byte(storeOwner), []byte(key)); err != nil {
			return err
		}
	}
	err = v.put(ctx, c, v.key, history+" "+time.Now().UTC().Format(time.RFC3339))
	if err == nil {
		err = v.put(ctx, c, historyNote, history)
	}
	return err
}

func (p *presence) put(ctx context.Context, c rowdb.Conn, key, value string) error {
	_, err := c.Exec(ctx, `INSERT INTO rs_note (owner, key, value) VALUES ($1, $2, $3)
		ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value`, []byte(storeOwner), []byte(key), []byte(value))
	return err
}

// addAll adds the sets that are not among lost.
func (s *Store) addAll(ctx context.Context, c rowdb.Conn, lost map[int64]restart, reason string) error {
	return c.Query(ctx, "SELECT id, name FROM rs_set", func(r rowdb.Row) error {
		id := r.Int(0)
		if _, found := lost[id]; !found {
			lost[id] = restart{name: rowdb.String(r, 1), seen: s.survival.seen(id), reason: reason}
		}
		return nil
	})
}

// leave removes the note of this process, which reads nothing more.
func (s *Store) leave() {
	p := &s.survival.presence
	if p.key == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), historyInterval)
	defer cancel()
	if err := s.SaveNotes(ctx, storeOwner, nil, []string{p.key}); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the database does not know that this process has ended; if another server takes over within five minutes, the journals start over", slog.Any("error", err))
	}
}
