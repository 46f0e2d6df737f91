package publisher

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/topic"
)

// stated adds a Stater to a journal.
type stated struct {
	*journal
	newest time.Time
}

func (s *stated) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return resourcesync.Stat{LastModified: s.newest, Version: s.newest.String() + s.since.String()}, nil
}

// TestGap: changes that the journal drops before they are published cause a gap that
// Destinations see. Changes that it drops afterwards do not.
func TestGap(t *testing.T) {
	for _, test := range []struct {
		name          string
		stater, lossy bool
		running       bool // while the journal is cut
		gap           bool
	}{
		{name: "lost while nobody published", stater: true, lossy: true, gap: true},
		{name: "lost, and nobody can know what", lossy: true, gap: true},
		{name: "nothing lost while publishing", running: true},
		{name: "nothing lost while nobody published, says the Stater", stater: true},
		{name: "nothing lost while nobody published, but nobody knows", gap: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newRecorder(nil)
				var log bytes.Buffer
				j, outbox := &stated{journal: &journal{since: time.Now()}}, pushlog.NewMemory()
				c := changeChannel(j, topic.RemoteHub{URI: "https://hub.example.net/"})
				c.Settle = -1
				if !test.stater {
					c.Stater = nil
				}
				opts := inBubble(h, &topic.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				add := func(n int) {
					now := time.Now()
					j.add(now, n)
					j.mu.Lock()
					defer j.mu.Unlock()
					j.newest = now
				}
				add(0)
				time.Sleep(time.Second)
				_, stop := run(t, outbox, []Channel{c}, opts)
				time.Sleep(time.Minute)
				add(1)
				time.Sleep(time.Minute)
				if !test.running {
					stop()
				}
				time.Sleep(time.Hour)
				if test.lossy {
					add(2)
				}
				time.Sleep(time.Hour)
				since := time.Now().Add(-10 * time.Minute)
				j.drop(since)
				if !test.running {
					_, stop = run(t, outbox, []Channel{c}, opts)
					time.Sleep(time.Minute)
				}
				add(3)
				time.Sleep(time.Minute)
				stop()
				posts := h.all()
				if len(posts) != 2 {
					t.Fatalf("%d notifications, want 2", len(posts))
				}
				before, _ := decode(t, posts[0].body)
				after, entries := decode(t, posts[1].body)
				want := before.Metadata.Until
				if test.gap {
					want = since.Add(-time.Microsecond)
				}
				if !after.Metadata.From.Equal(want) || len(entries) != 1 || entries[0].Loc != resource(3).URI {
					t.Errorf("from %v, want %v; %d entries", after.Metadata.From, want, len(entries))
				}
				if got := strings.Count(log.String(), "level=WARN msg=\"the journal begins after the newest notification"); got != map[bool]int{true: 1}[test.gap] {
					t.Errorf("%d lines about the gap:\n%s", got, log.String())
				}
			})
		})
	}
}

// TestGapAfterOthers publishes the changes that were read before the gap first.
func TestGapAfterOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRecorder(nil)
		j, outbox := &journal{since: time.Now()}, pushlog.NewMemory()
		c := changeChannel(j, topic.RemoteHub{URI: "https://hub.example.net/"})
		c.Settle = -1
		_, stop := run(t, outbox, []Channel{c}, inBubble(h, &topic.Options{Flush: time.Hour}))
		defer stop()
		time.Sleep(time.Second)
		j.add(time.Now(), 1)
		time.Sleep(time.Minute)
		second := time.Now()
		j.add(second, 2)
		time.Sleep(time.Minute)
		j.add(time.Now(), 3)
		since := time.Now().Add(1)
		j.drop(since) // with 3, which nobody has seen
		time.Sleep(time.Second)
		j.add(time.Now(), 4)
		time.Sleep(2 * time.Hour)
		posts := h.all()
		if len(posts) != 3 {
			t.Fatalf("%d notifications, want 3", len(posts))
		}
		for i, want := range []struct{ from, until time.Time }{{}, {until: second}, {from: since.Add(-time.Microsecond)}} {
			head, entries := decode(t, posts[i].body)
			if m := head.Metadata; len(entries) != 1 || entries[0].Loc != resource([]int{1, 2, 4}[i]).URI ||
				!want.from.IsZero() && !m.From.Equal(want.from) || !want.until.IsZero() && !m.Until.Equal(want.until) {
				t.Errorf("notification %d from %v until %v, %v", i+1, m.From, m.Until, entries)
			}
		}
	})
}

// TestBegins starts a channel after the existing changes, for each way of finding the
// last one.
func TestBegins(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	old := &journal{since: now.Add(-time.Hour)}
	old.add(now.Add(-2*time.Minute), 1)
	old.add(now.Add(-time.Minute).Add(5), 2)
	newest := now.Add(-time.Minute).Add(5)
	always := &journal{}
	for name, test := range map[string]struct {
		channel Channel
		want    time.Time
	}{
		"in order, by reading":    {Channel{Changer: old, Settle: -1}, newest},
		"in order, by the Stater": {Channel{Changer: old, Settle: -1, Stater: &stated{journal: old, newest: newest.Add(100)}}, newest.Add(100)},
		"a Stater of the future":  {Channel{Changer: old, Settle: -1, Stater: &stated{journal: old, newest: now.Add(time.Hour)}}, newest},
		"an empty journal":        {Channel{Changer: &journal{since: now}, Settle: -1}, now.Add(-time.Microsecond)},
		"a journal of all time":   {Channel{Changer: always, Settle: -1}, epoch},
		"a Windower":              {Channel{Changer: &windower{old}}, newest},
		"settles since":           {Channel{Changer: &journal{since: now.Add(time.Minute)}, Settle: time.Hour}, now.Add(time.Minute - time.Microsecond)},
	} {
		test.channel.Topic, test.channel.CapabilityList = changeTopic, capabilityList
		outbox := pushlog.NewMemory()
		p, err := New(outbox, []Channel{test.channel}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := newChanges(newFeed(p, &p.channels[0])).load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s, err := outbox.State(t.Context(), changeTopic); err != nil || !s.Until.Equal(test.want) || s.Number != 0 {
			t.Errorf("%s: %+v, %v, want %v", name, s, err, test.want)
		}
	}
}

// TestBeginsLate: a channel whose journal settles begins when its Publisher was created, even if the
// log or the journal cannot be read until later.
func TestBeginsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outbox, settle := pushlog.NewMemory(), 30*time.Second
		c := Channel{Topic: changeTopic, CapabilityList: capabilityList, Changer: &journal{since: time.Now().Add(-time.Hour)}, Settle: settle}
		p, err := New(outbox, []Channel{c}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		made := time.Now()
		time.Sleep(time.Hour)
		if err := newChanges(newFeed(p, &p.channels[0])).load(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := outbox.State(t.Context(), changeTopic)
		if begin := made.Add(-settle); err != nil || s.Until.After(begin) || s.Until.Before(begin.Add(-time.Millisecond)) {
			t.Errorf("begins at %v, %v, want %v", s.Until, err, begin)
		}
	})
}

// A windower is a journal that claims to divide itself.
type windower struct{ *journal }

func (w *windower) Windows(ctx context.Context, _ int) ([]resourcesync.Interval, error) {
	since, err := w.Since(ctx)
	return []resourcesync.Interval{{From: since}}, err
}

// TestLeftOut reports a change that cannot be published once, and continues.
func TestLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRecorder(nil)
		var log bytes.Buffer
		j, outbox := &journal{since: time.Now()}, pushlog.NewMemory()
		c := changeChannel(j, topic.RemoteHub{URI: "https://hub.example.net/"})
		c.Settle = -1
		failed := false
		flaky := &failing{Log: outbox, add: func() error { // so that the journal is read again
			if failed {
				return nil
			}
			failed = true
			return errors.New("the disk is full")
		}}
		p, stop := run(t, flaky, []Channel{c}, inBubble(h, &topic.Options{FlushChanges: 2, Logger: slog.New(slog.NewTextHandler(&log, nil))}))
		time.Sleep(time.Second)
		var bad []resourcesync.Change
		for i := range 5 {
			bad = append(bad, resourcesync.Change{Type: resourcesync.Updated, Datetime: time.Now().Add(time.Duration(i)), Resource: resourcesync.Resource{Key: "k", URI: "no URI"}})
		}
		j.addAll(bad...)
		time.Sleep(time.Hour)
		if n := len(h.all()); n != 0 {
			t.Errorf("%d notifications of nothing", n)
		}
		j.add(time.Now(), 1)
		time.Sleep(time.Hour)
		stop()
		if n := len(h.all()); n != 1 {
			t.Fatalf("%d notifications, want 1", n)
		}
		if _, entries := decode(t, h.all()[0].body); len(entries) != 1 {
			t.Errorf("%d entries", len(entries))
		}
		if c := p.Counters(); c.LeftOut != 5 || strings.Count(log.String(), "are not published") != 1 {
			t.Errorf("%+v\n%s", c, log.String())
		}
	})
}

// TestD4_NoBatchIsRefused: an invalid field is left out of a notification, which a
// strict hub would refuse for good, and its change is published.
func TestD4_NoBatchIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRecorder(nil)
		var log bytes.Buffer
		j := &journal{since: time.Now()}
		c := changeChannel(j, topic.RemoteHub{URI: "https://hub.example.net/"})
		c.Settle = -1
		p, stop := run(t, pushlog.NewMemory(), []Channel{c}, inBubble(h, &topic.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}))
		time.Sleep(time.Second)
		for _, uri := range []string{"https://example.org/a", "https://example.org/b"} {
			j.addAll(resourcesync.Change{Type: resourcesync.Updated, Datetime: time.Now(), Resource: resourcesync.Resource{
				Key: uri, URI: uri, Type: "html", Links: []resourcesync.Link{{Rel: "via", Href: "relative"}},
			}})
			time.Sleep(time.Hour)
		}
		stop()
		if n := len(h.all()); n != 2 {
			t.Fatalf("%d notifications, want 2", n)
		}
		for _, n := range h.all() {
			if _, entries := decode(t, n.body); len(entries) != 1 || entries[0].Links != nil {
				t.Errorf("entries %+v", entries)
			}
		}
		if c := p.Counters(); c.Dropped != 4 || c.LeftOut != 0 || !strings.Contains(log.String(), "Links[0].Href") {
			t.Errorf("%+v\n%s", c, log.String())
		}
	})
}

// TestBeginning: a channel publishes the changes since the Publisher was created, even
// if the Publisher leads only later, because somebody may have subscribed already.
func TestBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRecorder(nil)
		outbox, set := pushlog.NewMemory(), memory.New(nil)
		put(t, set, 0)
		time.Sleep(time.Second)
		p, err := New(outbox, []Channel{changeChannel(set, topic.RemoteHub{URI: "https://hub.example.net/"})}, nil, inBubble(h, nil))
		if err != nil {
			t.Fatal(err)
		}
		put(t, set, 1)
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := p.Run(ctx); err != nil {
			t.Fatal(err)
		}
		posts := h.all()
		if len(posts) != 1 {
			t.Fatalf("%d notifications", len(posts))
		}
		if _, entries := decode(t, posts[0].body); len(entries) != 1 || entries[0].Loc != resource(1).URI {
			t.Errorf("published %v", entries)
		}
	})
}
