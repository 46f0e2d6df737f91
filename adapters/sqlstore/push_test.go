package sqlstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// pushDatabase names the variable that makes a process the child of TestPushKilled.
const pushDatabase = "SQLSTORE_PUSH_DATABASE"

// TestPushKilled kills a process that appends again and again, at random moments: a notification is
// stored with its state or not at all. RESOURCESYNC_KILLS is the number of kills.
func TestPushKilled(t *testing.T) {
	if db := os.Getenv(pushDatabase); db != "" {
		if err := pushForever(context.Background(), database(db)); err != nil {
			t.Fatal(err)
		}
	}
	n := setting("RESOURCESYNC_KILLS", 3)
	eachEngine(t, func(t *testing.T, db database) {
		s := db.open(t, nil)
		o := s.mustLog(t, "source")
		var last pushlog.Notification
		for range n {
			cmd := exec.Command(os.Args[0], "-test.run=^TestPushKilled$", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), pushDatabase+"="+string(db))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			before := last.Number
			eventually(t, func() error {
				state, err := o.State(t.Context(), benchTopic)
				if err == nil && state.Number <= before+2 {
					err = fmt.Errorf("the child has added nothing after %d", state.Number)
				}
				return err
			})
			time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond)
			cmd.Process.Kill()
			cmd.Wait()

			// PostgreSQL may still be executing the last statement of the child.
			var state pushlog.State
			eventually(t, func() error {
				first, err := o.State(t.Context(), benchTopic)
				if err != nil {
					return err
				}
				time.Sleep(50 * time.Millisecond)
				if state, err = o.State(t.Context(), benchTopic); err == nil && !state.Equal(first) {
					err = fmt.Errorf("the child still adds")
				}
				return err
			})
			found, err := o.Read(t.Context(), benchTopic, last.Number, 100_000, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range found {
				if n.Number != last.Number+1 || !n.From.Equal(last.Until) {
					t.Fatalf("after number %d until %v comes number %d from %v", last.Number, last.Until, n.Number, n.From)
				}
				last = n
			}
			if state.Number != last.Number || !state.Until.Equal(last.Until) {
				t.Fatalf("the state is %+v, and the newest notification %d until %v", state, last.Number, last.Until)
			}
		}
	})
}

func pushForever(ctx context.Context, db database) error {
	s, _, err := db.connect(ctx, nil)
	if err != nil {
		return err
	}
	sealed, err := s.Log(ctx, "source")
	if err != nil {
		return err
	}
	o := pushlog.Unseal(sealed)
	for err == nil {
		before, e := o.State(ctx, benchTopic)
		if e != nil {
			return e
		}
		next := pushlog.State{Number: before.Number + 1, Until: time.Now()}
		err = o.Append(ctx, pushlog.Notification{Topic: benchTopic, From: before.Until, Until: next.Until, Body: make([]byte, 5000)}, before, next)
	}
	return err
}
