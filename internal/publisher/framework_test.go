package publisher

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
)

// documents returns updates that a test adds. It counts the updates returned.
type documents struct {
	mu      sync.Mutex
	err     error
	updates []Update
	asked   []string
}

func (d *documents) set(err error, updates ...Update) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
	d.updates = append(d.updates, updates...)
}

func (d *documents) Next(_ context.Context, known string) (*Update, string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, known)
	if d.err != nil {
		return nil, "", d.err
	}
	n, _ := strconv.Atoi(known)
	if known == "" || n >= len(d.updates) {
		return nil, strconv.Itoa(len(d.updates)), nil
	}
	return &d.updates[n], strconv.Itoa(n + 1), nil
}

func update(up string, locs ...string) Update {
	u := Update{Up: up}
	for _, loc := range locs {
		u.Entries = append(u.Entries, rsxml.Entry{
			Loc:      "https://museum.example.org/resourcesync/" + loc,
			Metadata: rsxml.Metadata{Capability: resourcesync.ResourceList, Change: resourcesync.Updated},
		})
	}
	return u
}

func frameworkChannel(d Documents, hubs ...topic.RemoteHub) Channel {
	return Channel{Topic: frameworkTopic, CapabilityList: capabilityList, Hubs: hubs, Documents: d}
}

// TestRS14_RS16_RS17_framework checks the contents of Framework Notifications.
// Documents from before the start of the channel are not announced.
func TestRS14_RS16_RS17_framework(t *testing.T) {
	t.Parallel()
	h, hub := hub(t, nil)
	d, outbox := &documents{}, pushlog.NewMemory()
	d.set(nil, update(capabilityList, "before.xml"))
	run(t, outbox, []Channel{frameworkChannel(d, hub)}, nil)
	if s := begun(t, outbox, frameworkTopic); s.Documents != "1" || s.Number != 0 {
		t.Errorf("the channel began with %+v", s)
	}
	page := update(capabilityList, "page.xml")
	page.Entries[0].Links = []resourcesync.Link{{Rel: resourcesync.RelIndex, Href: "https://museum.example.org/resourcesync/index.xml"}}
	list := Update{Up: description, Entries: []rsxml.Entry{{
		Loc:      capabilityList,
		Metadata: rsxml.Metadata{Capability: resourcesync.CapabilityList, Change: resourcesync.Updated, Datetime: moment("2025-01-01T00:00:00Z")},
	}}}
	d.set(nil, page, list)
	for i, post := range h.wait(t, 2) {
		head, entries := decode(t, post.body)
		want := []Update{page, list}[i]
		if head.Index || head.Metadata.Capability != resourcesync.FrameworkNotification || !head.Metadata.From.IsZero() || !head.Metadata.Until.IsZero() {
			t.Errorf("head %+v", head)
		}
		if len(head.Links) != 1 || head.Links[0].Rel != "up" || head.Links[0].Href != want.Up { // RS17
			t.Errorf("links %v", head.Links)
		}
		if len(entries) != 1 || entries[0].Loc != want.Entries[0].Loc || entries[0].Metadata.Capability != want.Entries[0].Metadata.Capability ||
			entries[0].Metadata.Change != resourcesync.Updated || !slices.EqualFunc(entries[0].Links, want.Entries[0].Links, resourcesync.Link.Equal) { // RS16
			t.Errorf("entries %+v", entries)
		}
		if got := targets(t, post.header)["self"]; !slices.Equal(got, []string{frameworkTopic}) {
			t.Errorf("self %v", got)
		}
	}
}

// TestFrameworkRate announces a change at once after a quiet time, and then no more
// often than Options.Framework. Simultaneous changes are announced together.
func TestFrameworkRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRecorder(nil)
		d, outbox := &documents{}, pushlog.NewMemory()
		_, stop := run(t, outbox, []Channel{frameworkChannel(d, topic.RemoteHub{URI: "https://hub.example.net/"})}, inBubble(h, nil))
		defer stop()
		time.Sleep(time.Hour)
		begun(t, outbox, frameworkTopic)
		start := time.Now()
		d.set(nil, update(capabilityList, "1.xml"), update(description, "2.xml"))
		time.Sleep(5 * time.Second)
		for range 100 {
			d.set(nil, update(capabilityList, "more.xml"))
			time.Sleep(time.Second)
		}
		time.Sleep(10 * time.Minute)
		posts := h.all()
		if len(posts) != 102 {
			t.Fatalf("%d notifications, want 102", len(posts))
		}
		if at := posts[1].at.Sub(start); at > 2*pollInterval || !posts[1].at.Equal(posts[0].at) {
			t.Errorf("the first came after %v and %v", posts[0].at.Sub(start), at)
		}
		bursts := map[time.Time]int{}
		var last time.Time
		for _, p := range posts {
			bursts[p.at]++
			if gap := p.at.Sub(last); gap > 0 && gap < time.Minute {
				t.Errorf("a notification came %v after another", gap)
			}
			last = p.at
		}
		for at, n := range bursts {
			if n > maxUpdates {
				t.Errorf("%d at once at %v", n, at)
			}
		}
	})
}

// TestFrameworkRestart neither repeats nor loses updates, and waits for documents
// that are not ready.
func TestFrameworkRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRecorder(nil)
		d, outbox := &documents{}, pushlog.NewMemory()
		channels := []Channel{frameworkChannel(d, topic.RemoteHub{URI: "https://hub.example.net/"})}
		d.set(resourcesync.ErrNotReady)
		p, stop := run(t, outbox, channels, inBubble(h, nil))
		time.Sleep(time.Minute)
		if s, err := outbox.State(t.Context(), frameworkTopic); err != nil || !s.Equal(pushlog.State{}) || p.Health(t.Context()) != nil {
			t.Errorf("before it is ready: %+v, %v, health %v", s, err, p.Health(t.Context()))
		}
		d.set(nil)
		time.Sleep(time.Minute)
		var want []string
		for i := range 10 {
			stop()
			d.set(nil, update(capabilityList, strconv.Itoa(i)))
			want = append(want, "https://museum.example.org/resourcesync/"+strconv.Itoa(i))
			_, stop = run(t, outbox, channels, inBubble(h, nil))
			time.Sleep(time.Duration(i) * 10 * time.Second)
		}
		time.Sleep(10 * time.Minute)
		stop()
		var got []string
		for _, b := range h.bodies() {
			_, entries := decode(t, b)
			got = append(got, entries[0].Loc)
		}
		if !slices.Equal(got, want) {
			t.Errorf("told %v", got)
		}
	})
}
