package publisher

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/topic"
)

// A history is a journal of some kind, and what happens to it at random.
type history struct {
	changer resourcesync.Changer
	settle  time.Duration
	change  func(r *rand.Rand)
}

// histories are the three kinds of journals.
var histories = map[string]func(t *testing.T) history{
	"Windower": func(t *testing.T) history {
		var step time.Duration // of the journal's clock, to and fro
		set := memory.New(&memory.Options{Now: func() time.Time { return time.Now().Add(step) }})
		return history{changer: set, change: func(r *rand.Rand) {
			if r.IntN(50) == 0 {
				step = time.Duration(r.IntN(7201)-3600) * time.Second
			}
			for range 1 + r.IntN(40) {
				if n := r.IntN(100); n < 30 {
					if err := set.Delete(t.Context(), resource(n).Key); err != nil {
						t.Error(err)
					}
				} else {
					res := resource(n)
					res.ChangeFreq = []string{"daily", "weekly"}[r.IntN(2)]
					if err := set.Put(t.Context(), res); err != nil {
						t.Error(err)
					}
				}
			}
		}}
	},
	"in order": func(*testing.T) history {
		j := &journal{since: time.Now()}
		last := time.Now()
		return history{changer: j, settle: -1, change: func(r *rand.Rand) {
			at := time.Now()
			if !at.After(last) {
				at = last.Add(1)
			}
			var changes []resourcesync.Change
			for i := range 1 + r.IntN(40) {
				changes = append(changes, changed(at, i))
				if r.IntN(3) > 0 { // else the next one has the same datetime
					at = at.Add(time.Duration(1 + r.IntN(3000)))
				}
			}
			last = at.Add(1)
			j.addAll(changes...)
		}}
	},
	"settles": func(t *testing.T) history {
		const settle = 20 * time.Second
		j := &journal{since: time.Now()}
		return history{changer: j, settle: settle, change: func(r *rand.Rand) {
			for i := range 1 + r.IntN(40) {
				j.add(time.Now().Add(-time.Duration(r.Int64N(int64(settle-2*time.Second)))), i)
			}
		}}
	},
}

// TestRS11_contiguous runs publishers over random histories, with random flushes,
// failures and restarts in between. Intervals are contiguous, each change is in exactly
// one, once and in order, and the hub has every notification in order.
func TestRS11_contiguous(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	for name, make := range histories {
		for run := range 15 {
			t.Run(fmt.Sprintf("%s/%d.%d", name, seed, run), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { contiguous(t, rand.New(rand.NewPCG(seed, uint64(run))), make(t)) })
			})
		}
	}
}

func contiguous(t *testing.T, r *rand.Rand, history history) {
	h := newRecorder(func(w http.ResponseWriter, n int) {
		switch n % 5 { // not by r, which is not for several goroutines
		case 0:
			w.WriteHeader(http.StatusInternalServerError)
		case 3:
			time.Sleep(time.Duration(n%12) * time.Second) // at times beyond the time-out
		}
	})
	outbox := keeping{pushlog.NewMemory()}
	c := changeChannel(history.changer, topic.RemoteHub{URI: "https://hub.example.net/"})
	c.Settle = history.settle
	if r.IntN(2) == 0 {
		c.Watcher = nil
	}
	if r.IntN(2) == 0 {
		c.Stater = nil
	}
	opts := inBubble(h, &topic.Options{Flush: time.Duration(1+r.IntN(20)) * 500 * time.Millisecond, FlushChanges: 1 + r.IntN(100)})
	history.change(r) // before the channel
	time.Sleep(time.Second)
	_, stop := run(t, outbox, []Channel{c}, opts)
	time.Sleep(time.Second)
	begin := begun(t, outbox, changeTopic).Until
	// A journal whose clock is ahead has already published future changes.
	if told, err := outbox.Read(t.Context(), changeTopic, 0, 1, 1<<30); err != nil {
		t.Fatal(err)
	} else if len(told) > 0 {
		begin = told[0].From
	}
	for range 60 {
		history.change(r)
		time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
		if r.IntN(10) == 0 {
			stop()
			for range r.IntN(3) {
				history.change(r)
				time.Sleep(time.Duration(r.IntN(100)) * time.Second)
			}
			_, stop = run(t, outbox, []Channel{c}, opts)
		}
	}
	for range 200 { // until the hub has had its bad moments with all of them
		time.Sleep(10 * time.Minute)
		q, err := outbox.HubCursor(t.Context(), changeTopic, c.Hubs[0].URI)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := outbox.State(t.Context(), changeTopic); err != nil || s.Number == q.Taken {
			break
		}
	}
	stop()

	wantInOrder(t, outbox, h.bodies())
	wantContiguous(t, outbox, begin, history.changer, opts.FlushChanges)
}

// wantContiguous wants the notifications of the outbox to have all changes since
// begin.
func wantContiguous(t *testing.T, outbox pushlog.Log, begin time.Time, changer resourcesync.Changer, most int) {
	t.Helper()
	kept, err := outbox.Read(t.Context(), changeTopic, 0, 1_000_000, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	from := begin
	for i, n := range kept {
		head, entries := decode(t, n.Body)
		m := head.Metadata
		if n.Number != int64(i+1) || !m.From.Equal(from) || !n.From.Equal(m.From) || !n.Until.Equal(m.Until) || !m.Until.After(m.From) {
			t.Fatalf("notification %d: number %d from %v until %v, document from %v until %v, want from %v",
				i+1, n.Number, n.From, n.Until, m.From, m.Until, from)
		}
		for _, e := range entries {
			at := e.Metadata.Datetime
			if !at.After(m.From) || at.After(m.Until) {
				t.Errorf("a change at %v in (%v, %v]", at, m.From, m.Until)
			}
			told = append(told, fmt.Sprint(at.UnixNano(), e.Metadata.Change, e.Loc))
		}
		// Only changes with the datetime of the last one can exceed the limit.
		if n := len(entries); n == 0 || n > most && !entries[most-1].Metadata.Datetime.Equal(entries[n-1].Metadata.Datetime) {
			t.Errorf("notification %d has %d entries, want 1 to %d", i+1, n, most)
		}
		from = m.Until
	}
	var want []string
	for c, err := range changer.Changes(t.Context(), resourcesync.Interval{From: begin}) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprint(c.Datetime.UnixNano(), c.Type, c.Resource.URI))
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %d changes, want %d", len(told), len(want))
		for i := range min(len(told), len(want)) {
			if told[i] != want[i] {
				t.Fatalf("change %d: told %s, want %s", i, told[i], want[i])
			}
		}
	}
}

// unled lets every process lead, as may happen for a moment after a lost connection.
type unled struct{ keeping }

func (unled) Lead(ctx context.Context, f func(context.Context) error) (bool, error) {
	return true, f(ctx)
}

// TestTwoLeaders: two leaders write one sequence of notifications, and each of them
// also sends the notifications of the other.
func TestTwoLeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRecorder(nil)
		cutOff := newRecorder(func(w http.ResponseWriter, _ int) { w.WriteHeader(http.StatusBadGateway) })
		outbox := unled{keeping{pushlog.NewMemory()}}
		set := memory.New(nil)
		c := changeChannel(set, topic.RemoteHub{URI: "https://hub.example.net/"})
		_, stop := run(t, outbox, []Channel{c}, inBubble(h, nil))
		_, stopOther := run(t, outbox, []Channel{c}, inBubble(cutOff, &topic.Options{Flush: 300 * time.Millisecond}))
		time.Sleep(time.Second)
		begin := begun(t, outbox, changeTopic).Until
		for n := range 300 {
			put(t, set, n)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		wantInOrder(t, outbox.keeping, h.bodies())
		stopOther()
		put(t, set, 1000)
		time.Sleep(2 * time.Second)
		stop()
		wantContiguous(t, outbox, begin, set, 1000)
		wantInOrder(t, outbox.keeping, h.bodies())
	})
}

// TestHandover continues in another process, with the topic served in both.
func TestHandover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRecorder(nil)
		outbox, set := keeping{pushlog.NewMemory()}, memory.New(nil)
		channels := []Channel{changeChannel(set, topic.RemoteHub{URI: "https://hub.example.net/"})}
		_, stopFirst := run(t, outbox, channels, inBubble(h, nil))
		_, stopSecond := run(t, outbox, channels, inBubble(h, nil))
		defer stopSecond()
		time.Sleep(time.Second)
		begin := begun(t, outbox, changeTopic).Until
		for n := range 20 {
			put(t, set, n)
			time.Sleep(time.Second)
			if n == 10 {
				stopFirst()
			}
		}
		time.Sleep(5 * time.Second)
		wantInOrder(t, outbox, h.bodies())
		wantContiguous(t, outbox, begin, set, 1000)
	})
}
