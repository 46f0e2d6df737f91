package rshttp_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/scan"
	"github.com/resourcesync-go/resourcesync/topic"
)

// recorder is a log that remembers what is appended to it.
type recorder struct {
	pushlog.Log

	mu    sync.Mutex
	added map[string][]string // bodies by topic
	asked int                 // how often for the state of a topic
}

func (r *recorder) Append(ctx context.Context, n pushlog.Notification, before, next pushlog.State) error {
	err := r.Log.Append(ctx, n, before, next)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.added[n.Topic] = append(r.added[n.Topic], string(n.Body))
	}
	return err
}

func (r *recorder) State(ctx context.Context, uri string) (pushlog.State, error) {
	r.mu.Lock()
	r.asked++
	r.mu.Unlock()
	return r.Log.State(ctx, uri)
}

func (r *recorder) see() (added map[string][]string, asked int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.added), r.asked
}

// TestPushRestart: a Source that restarts with the same outbox neither repeats nor
// omits a notification.
func TestPushRestart(t *testing.T) {
	t.Parallel()
	h := newHubServer(t)
	papers := memory.New(nil)
	outbox := &recorder{Log: pushlog.NewMemory(), added: map[string][]string{}}
	begin := func() func() {
		_, stop := pushed(t, rshttp.Options{Store: storeOf(outbox)}, rshttp.Set{Provider: papers, RemoteHubs: []topic.RemoteHub{{URI: h.uri}}})
		return stop
	}
	const changes, framework = pushBase + "change/", pushBase + "framework/"
	stop := begin()
	begun(t, h, "")
	var want []string
	for i := range 12 {
		switch i % 4 {
		case 1:
			stop()
		case 3:
			stop = begin()
		}
		putOne(t, papers, fmt.Sprint(i))
		want = append(want, fmt.Sprintf("created papers/%d", i))
	}
	until(t, "all changes", func() bool { return slices.Contains(h.told("/change/"), want[len(want)-1]) })
	announced := func() bool {
		stat, err := papers.Stat(t.Context(), resourcesync.Range{})
		return err == nil && slices.ContainsFunc(h.on("/framework/"), func(p post) bool {
			return p.entries[len(p.entries)-1].Metadata.Datetime.Equal(stat.LastModified)
		})
	}
	until(t, "the state at the end", announced)
	stop()
	made, before := outbox.see()

	var told []string
	var end time.Time
	for _, body := range made[changes] {
		head, entries, err := rsxml.Decode(strings.NewReader(body))
		if err != nil || !end.IsZero() && !head.Metadata.From.Equal(end) {
			t.Errorf("from %v after until %v: %v", head.Metadata.From, end, err)
		}
		end = head.Metadata.Until
		for _, e := range entries {
			told = append(told, string(e.Metadata.Change)+" "+strings.TrimPrefix(e.Loc, "https://example.org/"))
		}
	}
	if !slices.Equal(told, want) {
		t.Errorf("changes told: %q", told)
	}
	if n := strings.Count(strings.Join(made[framework], ""), `change="created"`); n != 4 {
		t.Errorf("%d documents were created, of 4:\n%s", n, made[framework])
	}
	// A notification that was in flight when the Source ended may be repeated. If the server of
	// the hub is slow, it may even handle the first of the two after the next notification.
	for uri, bodies := range made {
		var got []string
		for _, p := range h.on(strings.TrimPrefix(uri, pushBase)) {
			got = append(got, p.body)
		}
		if got = withoutRepetitions(got); !slices.Equal(got, bodies) {
			t.Errorf("%s: the hub got %d different notifications of %d", uri, len(got), len(bodies))
		}
	}

	stop = begin()
	until(t, "the publisher at work", func() bool {
		_, asked := outbox.see()
		return asked >= before+2
	})
	// A repetition would come before this change, or with it.
	putOne(t, papers, "last")
	const last = "created papers/last"
	until(t, "the last change", func() bool { return slices.Contains(h.told("/change/"), last) })
	until(t, "the state after it", announced)
	stop()
	again, _ := outbox.see()
	for uri, bodies := range made {
		if n := len(bodies); len(again[uri]) != n+1 || !slices.Equal(again[uri][:n], bodies) {
			t.Errorf("%s: %d notifications became %d after a restart and one change", uri, n, len(again[uri]))
		}
	}
	if told := withoutRepetitions(h.told("/change/")); !slices.Equal(told, append(want, last)) {
		t.Errorf("changes told after a restart: %q", told)
	}
}

// withoutRepetitions returns the first of equal values in list.
func withoutRepetitions(list []string) (firsts []string) {
	for _, s := range list {
		if !slices.Contains(firsts, s) {
			firsts = append(firsts, s)
		}
	}
	return firsts
}

// TestPushProviders: sets with few upgrades are pushed as far as possible.
func TestPushProviders(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	all := memory.New(nil)
	bare := tableOf(1)
	for name, tt := range map[string]struct {
		set    rshttp.Set
		change func()
		want   []string // on the change channel
		list   string   // on the framework channel
	}{
		"everything": {rshttp.Set{Provider: all}, func() { putOne(t, all, "1") }, []string{"created papers/1"}, "resourcelist.xml"},
		"no Stater": {rshttp.Set{Provider: plain{all}, Changer: struct {
			resourcesync.Changer
			resourcesync.Windower
		}{all, all}}, func() { putOne(t, all, "2") }, []string{"created papers/2"}, "changelist.xml"},
		"no Stater, but a Watcher": {rshttp.Set{Provider: plain{all}, Watcher: all, Changer: struct {
			resourcesync.Changer
			resourcesync.Windower
		}{all, all}}, func() { putOne(t, all, "3") }, []string{"created papers/3"}, "changelist.xml"},
		"no Changer": {rshttp.Set{Provider: plain{all}, Stater: all}, func() { putOne(t, all, "4") }, nil, "resourcelist.xml"},
		"one method": {rshttp.Set{Provider: bare}, func() { bare.put("zz", time.Now()) }, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHubServer(t)
			tt.set.RemoteHubs = []topic.RemoteHub{{URI: h.uri}}
			src, _ := pushed(t, rshttp.Options{}, tt.set)
			begun(t, h, "")
			if tt.want != nil {
				until(t, "the change channel has begun", func() bool {
					status, err := src.PushStatus(t.Context())
					return err == nil && slices.ContainsFunc(status.Topics, func(s topic.TopicStatus) bool { return !s.Until.IsZero() })
				})
			}
			tt.change()
			until(t, "the changes", func() bool { return slices.Equal(h.told("/change/"), tt.want) })
			if tt.list != "" { // without a Stater the Resource List is looked at once a minute
				until(t, tt.list, func() bool { return slices.Contains(h.told("/framework/"), "updated resourcesync/"+tt.list) })
			}
		})
	}
}

// plain hides the upgrades of a provider.
type plain struct{ resourcesync.Provider }

// TestPushStatus: the status shows what a hub does not accept.
func TestPushStatus(t *testing.T) {
	t.Parallel()
	h := newHubServer(t)
	h.answers(http.StatusInternalServerError)
	papers := memory.New(nil)
	src, _ := pushed(t, rshttp.Options{}, rshttp.Set{Provider: papers, RemoteHubs: []topic.RemoteHub{{URI: h.uri}}})
	until(t, "a failure", func() bool {
		status, err := src.PushStatus(t.Context())
		return err == nil && slices.ContainsFunc(status.Topics, func(s topic.TopicStatus) bool {
			return s.Topic == pushBase+"framework/" && len(s.Hubs) == 1 && s.Hubs[0].Failures > 0 && s.Hubs[0].Behind > 0
		})
	})
	h.answers(0)
	begun(t, h, "")
	if err := src.Health(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPushWaits: nothing is sent about a set that is not ready. Once it is ready,
// earlier changes are not sent.
func TestPushWaits(t *testing.T) {
	t.Parallel()
	h := newHubServer(t)
	papers := memory.New(&memory.Options{SetOptions: scan.SetOptions{AwaitScan: true}})
	pushed(t, rshttp.Options{}, rshttp.Set{Name: "later", Provider: papers, RemoteHubs: []topic.RemoteHub{{URI: h.uri}}},
		rshttp.Set{Name: "now", Provider: memory.New(nil), RemoteHubs: []topic.RemoteHub{{URI: h.uri}}})
	until(t, "what there is of the other set", func() bool { return len(h.told("/now/framework/")) == 4 })
	if told := h.told("/later/framework/"); len(told) > 0 {
		t.Errorf("told: %q", told)
	}
	listing := func(yield func(resourcesync.Resource, error) bool) { yield(resource("1"), nil) }
	if _, err := papers.Scan(t.Context(), listing); err != nil {
		t.Fatal(err)
	}
	begun(t, h, "later/")
	until(t, "a change that is told", func() bool {
		putOne(t, papers, "2")
		return len(h.told("/later/change/")) > 0
	})
	if told := h.told("/later/change/"); slices.ContainsFunc(told, func(s string) bool { return strings.HasSuffix(s, "/1") }) {
		t.Errorf("told: %q", told)
	}
}
