package harvesters

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// answers reports the responses of a Source to a Log, at the virtual time of synctest.
type answers struct{ *Log }

func (l answers) of(document string, change func(*rshttp.Answer)) {
	a := answer("h/1", "192.0.2.1:5", document)
	if change != nil {
		change(&a)
	}
	l.Observe(a)
}

// page reports a page of a Resource List.
func (l answers) page(from, to string) {
	l.of("resourcelist-page", func(a *rshttp.Answer) { a.Keys = resourcesync.Range{From: from, To: to} })
}

// changes reports a Change List whose newest change is at last. The list is open if until is
// zero.
func (l answers) changes(from, until, last time.Time) {
	l.of("changelist-window", func(a *rshttp.Answer) {
		a.Changes, a.Until = resourcesync.Interval{From: from, Until: until}, last
	})
}

// TestProof: a harvester is in sync only after a complete list and the changes since then.
func TestProof(t *testing.T) {
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		read func(answers)
		want string
	}{
		"nothing": {func(answers) {}, "unknown"},
		"a list":  {func(l answers) { l.of("resourcelist", func(a *rshttp.Answer) { a.Until = ago(time.Hour) }) }, "has read all"},
		"changes": {func(l answers) { l.changes(ago(30*day), time.Time{}, ago(time.Hour)) }, "has read all"},
		"a list and changes": {func(l answers) {
			l.of("resourcelist", nil)
			l.changes(ago(30*day), time.Time{}, ago(time.Hour))
		}, "in sync"},
		"a list and all changes of a journal that has just begun": {func(l answers) {
			l.of("resourcelist", nil)
			l.of("changelist", func(a *rshttp.Answer) { a.Changes.From, a.Until = ago(time.Second), ago(time.Second) })
		}, "in sync"},
		"a list and a window that has just begun": {func(l answers) {
			l.of("resourcelist", nil)
			l.changes(ago(time.Second), time.Time{}, ago(time.Second))
		}, "has read all"},
		"an unchanged list and changes": {func(l answers) {
			l.of("resourcelist", func(a *rshttp.Answer) { a.Status = http.StatusNotModified })
			l.changes(ago(30*day), time.Time{}, ago(time.Hour))
		}, "in sync"},
		"changes before the list": {func(l answers) {
			l.changes(ago(30*day), time.Time{}, ago(time.Hour))
			l.of("resourcelist", nil)
		}, "has read all"},
		"an interrupted list": {func(l answers) {
			l.of("resourcelist", func(a *rshttp.Answer) { a.Complete = false })
			l.changes(ago(30*day), time.Time{}, ago(time.Hour))
		}, "has read all"},
		"the index alone": {func(l answers) {
			l.of("resourcelist", func(a *rshttp.Answer) { a.Index = true })
			l.changes(ago(30*day), time.Time{}, ago(time.Hour))
		}, "has read all"},
		"all pages, in another order": {func(l answers) {
			l.of("resourcelist", func(a *rshttp.Answer) { a.Index = true })
			l.page("m", "")
			l.page("", "c")
			l.page("c", "m")
			l.changes(ago(30*day), time.Time{}, ago(time.Hour))
		}, "in sync"},
		"one page is missing": {func(l answers) {
			l.page("", "c")
			l.page("m", "")
			l.changes(ago(30*day), time.Time{}, ago(time.Hour))
		}, "has read all"},
		"pages of two divisions": {func(l answers) {
			l.page("", "c")
			l.page("", "d")
			l.page("c", "")
			l.changes(ago(30*day), time.Time{}, ago(time.Hour))
		}, "has read all"},
		"pages, again from the beginning": {func(l answers) {
			l.page("", "c")
			l.page("c", "m")
			l.page("", "c")
			l.page("c", "m")
			l.page("m", "")
			l.changes(ago(30*day), time.Time{}, ago(time.Hour))
		}, "in sync"},
		"packages of a dump": {func(l answers) {
			l.of("resourcedump-package", nil)
			l.changes(ago(30*day), time.Time{}, ago(time.Hour))
		}, "in sync"},
		"a part of a package": {func(l answers) {
			l.of("resourcedump-package", func(a *rshttp.Answer) { a.Status = http.StatusPartialContent })
			l.changes(ago(30*day), time.Time{}, ago(time.Hour))
		}, "has read all"},
		"windows in another order": {func(l answers) {
			l.of("resourcelist", nil)
			time.Sleep(3 * day)
			l.changes(ago(day), time.Time{}, ago(time.Hour))
			l.changes(ago(2*day), ago(day), ago(30*time.Hour))
			l.changes(ago(30*day), ago(2*day), ago(50*time.Hour))
		}, "in sync"},
		"a window is missing": {func(l answers) {
			l.of("resourcelist", nil)
			time.Sleep(3 * day)
			l.changes(ago(30*day), ago(2*day), ago(50*time.Hour))
			l.changes(ago(day), time.Time{}, ago(time.Hour))
		}, "has read all"},
		"the newest window is missing": {func(l answers) {
			l.of("resourcelist", nil)
			time.Sleep(3 * day)
			l.changes(ago(30*day), ago(2*day), ago(50*time.Hour))
		}, "behind"},
		"a callback": {func(l answers) {
			l.of("hub", subscribed("subscribe", "https://h.example/?secret"))
			l.Accepted("topic", "https://h.example/?…", "", ago(time.Hour))
		}, "in sync"},
		"a cancelled callback": {func(l answers) {
			l.of("hub", subscribed("subscribe", "https://h.example/"))
			l.of("hub", subscribed("unsubscribe", "https://h.example/"))
			l.Accepted("topic", "https://h.example/", "", ago(time.Hour))
		}, "unknown"},
		"the callback of others": {func(l answers) {
			l.of("hub", subscribed("subscribe", "https://h.example/"))
			l.Observe(func() rshttp.Answer {
				a := answer("other", "192.0.2.2:5", "hub")
				subscribed("subscribe", "https://h.example/")(&a)
				return a
			}())
			l.Accepted("topic", "https://h.example/", "", ago(time.Hour))
		}, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := answers{New()}
				l.of("description", nil)
				test.read(l)
				l.See("", ago(2*time.Hour))
				l.See("", ago(time.Hour))
				h := l.Recent(100)[len(l.Recent(100))-1]
				lag, known, inSync := l.Lag(&h, time.Now())
				got := "behind"
				switch {
				case inSync && lag == 0:
					got = "in sync"
				case !known:
					got = "unknown"
				case lag == 0:
					got = "has read all"
				}
				if got != test.want {
					t.Errorf("%s, want %s: %v, %+v", got, test.want, lag, h.Sets)
				}
			})
		})
	}
}

func subscribed(mode, callback string) func(*rshttp.Answer) {
	return func(a *rshttp.Answer) {
		a.Request.Method, a.Status = "POST", http.StatusAccepted
		a.Request.Form = url.Values{"hub.mode": {mode}, "hub.topic": {"topic"}, "hub.callback": {callback}}
	}
}

// TestLag: a harvester is behind since the first change that it lacks, not since the last one that
// it has.
func TestLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := answers{New()}
		read := time.Now().Add(-100 * time.Hour) // a Source that changes rarely
		l.See("", read)
		l.changes(time.Time{}, time.Time{}, read)
		lag := func() time.Duration {
			h := l.Recent(1)[0]
			d, _, _ := l.Lag(&h, time.Now())
			return d
		}
		if lag() != 0 || l.Behind(time.Hour) != 0 {
			t.Errorf("behind by %v", lag())
		}
		time.Sleep(time.Hour)
		l.See("", time.Now())
		time.Sleep(30 * time.Minute)
		if lag() != 30*time.Minute || l.Behind(time.Hour) != 0 {
			t.Errorf("behind by %v", lag())
		}
		for range 3 * maxTimeline {
			l.See("", time.Now())
			time.Sleep(time.Second)
		}
		if lag() != 30*time.Minute+3*maxTimeline*time.Second || l.Behind(time.Hour) != 1 || l.Behind(24*time.Hour) != 0 {
			t.Errorf("behind by %v", lag())
		}
	})
}

// TestProgressBounds: the memory for the progress of harvesters is bounded.
func TestProgressBounds(t *testing.T) {
	l := answers{New()}
	for i := range 10 * maxProgresses {
		a := answer("agent", fmt.Sprintf("198.51.%d.%d:1", i/2560%256, i/10%256), "resourcelist-page")
		a.Set, a.Keys = fmt.Sprint("set ", i%10), resourcesync.Range{From: fmt.Sprint(2 * i), To: fmt.Sprint(2*i + 1)}
		l.Observe(a)
	}
	for i := range 10000 {
		l.page(fmt.Sprint("k", 2*i), fmt.Sprint("k", 2*i+1))
		l.of("hub", subscribed("subscribe", fmt.Sprint("https://h.example/", i)))
	}
	n, ranges := 0, 0
	for e := l.recent.Front(); e != nil; e = e.Next() {
		h := e.Value.(*Harvester)
		n += len(h.Sets)
		for _, p := range h.Sets {
			ranges = max(ranges, len(p.list.ranges))
		}
	}
	if n != l.progresses || n > maxProgresses || ranges > maxRanges || len(l.subscribers) > maxSubscriptions {
		t.Errorf("%d sets, counted %d, up to %d ranges, %d subscriptions", n, l.progresses, ranges, len(l.subscribers))
	}
}
