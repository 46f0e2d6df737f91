package harvesters

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/rshttp"
)

func answer(agent, address, document string) rshttp.Answer {
	r := &http.Request{Method: "GET", Header: http.Header{"User-Agent": {agent}}, RemoteAddr: address}
	return rshttp.Answer{Request: r, Document: document, Status: 200, Bytes: 10, Complete: true}
}

// names returns the harvesters as text, the most recent one first.
func names(l *Log) string {
	var all []string
	for _, h := range l.Recent(100) {
		all = append(all, h.Agent+"@"+h.Address)
	}
	return strings.Join(all, " ")
}

func TestProgress(t *testing.T) {
	l := New()
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for i, test := range []struct {
		document string
		change   func(*rshttp.Answer)
		until    time.Time
		parts    int
	}{
		{"description", nil, time.Time{}, 0},
		{"resourcelist", func(a *rshttp.Answer) { a.Index = true }, time.Time{}, 0},
		{"resourcelist-page", nil, time.Time{}, 1},
		{"resourcelist-page", nil, time.Time{}, 2},
		{"resourcelist-page", func(a *rshttp.Answer) { a.Status, a.Complete = 304, true }, time.Time{}, 2},
		{"resourcelist-page", func(a *rshttp.Answer) { a.Complete = false }, time.Time{}, 2},
		{"resourcelist-page", func(a *rshttp.Answer) { a.Status = 503 }, time.Time{}, 2},
		{"resourcelist-page", func(a *rshttp.Answer) { a.Request.Method = "HEAD" }, time.Time{}, 2},
		{"resourcelist", func(a *rshttp.Answer) { a.Index, a.Request.Method = true, "HEAD" }, time.Time{}, 2},
		{"changelist", func(a *rshttp.Answer) { a.Index = true }, time.Time{}, 0},
		{"changelist-window", func(a *rshttp.Answer) { a.Until = at }, at, 1},
		{"changelist-window", func(a *rshttp.Answer) { a.Until = at.Add(time.Hour) }, at.Add(time.Hour), 2},
		{"changelist-window", func(a *rshttp.Answer) { a.Until = at }, at.Add(time.Hour), 3}, // an earlier list again
		{"changelist", func(a *rshttp.Answer) { a.Until, a.Status = at.Add(2*time.Hour), 304 }, at.Add(2 * time.Hour), 3},
		{"resourcedump", nil, at.Add(2 * time.Hour), 0},
		{"resourcedump-package", func(a *rshttp.Answer) { a.Status = 206 }, at.Add(2 * time.Hour), 1},
	} {
		a := answer("h/1", "192.0.2.1:5", test.document)
		if test.change != nil {
			test.change(&a)
		}
		l.Observe(a)
		all := l.Recent(100)
		if len(all) != 1 {
			t.Fatalf("%d harvesters", len(all))
		}
		h := all[0]
		if h.Document != test.document || h.Status != a.Status || !h.Until.Equal(test.until) || h.Parts != test.parts || h.Requests != uint64(i+1) || h.Bytes != int64(10*(i+1)) {
			t.Errorf("after %d answers, of %s: %+v, expected until %v, %d parts", i+1, test.document, h, test.until, test.parts)
		}
	}
}

func TestWho(t *testing.T) {
	l := New()
	for _, a := range []rshttp.Answer{
		answer("a", "192.0.2.1:5", "changelist"),
		answer("a", "[2001:db8::1]:5", "changelist"),
		answer("a", "[2001:db8::ffff]:6", "changelist"),
		answer("b\x1b[31m\u202e"+strings.Repeat("x", 500), "192.0.2.2:1", "description"),
		answer("", "192.0.2.2:1", "description"),
		answer("a", "192.0.2.1:7", "resourcelist"),
	} {
		l.Observe(a)
	}
	person := answer("browser", "192.0.2.9:1", "changelist")
	person.HTML = true
	l.Observe(person)
	l.Observe(answer("subscriber", "192.0.2.9:1", "hub"))
	want := "a@192.0.2.1 @192.0.2.2 b?[31m?" + strings.Repeat("x", maxAgent-7) + "…@192.0.2.2 a@2001:db8::/64"
	if got := names(l); got != want {
		t.Errorf("got %s\nexpected %s", got, want)
	}
	if got := l.Recent(2); len(got) != 2 || l.Len() != 4 {
		t.Errorf("%d of 2, %d of 4", len(got), l.Len())
	}
}

// TestBounds: one client displaces no other, and many displace those that have been away
// for the longest time.
func TestBounds(t *testing.T) {
	l := New()
	l.Observe(answer("first", "192.0.2.1:5", "changelist"))
	l.Observe(answer("second", "192.0.2.1:5", "changelist"))
	for i := range 5000 {
		l.Observe(answer(fmt.Sprint("agent ", i), "192.0.2.2:5", "changelist"))
	}
	if l.Len() != 2+maxAgents || !strings.HasPrefix(names(l), OtherAgents+"@192.0.2.2 agent 6@192.0.2.2") {
		t.Errorf("%d harvesters: %s", l.Len(), names(l))
	}
	for i := range maxHarvesters - 1 {
		l.Observe(answer("agent", fmt.Sprintf("198.51.%d.%d:1", i/256, i%256), "changelist"))
		l.Observe(answer("first", "192.0.2.1:5", "changelist"))
	}
	if all := l.Recent(2 * maxHarvesters); len(all) != maxHarvesters || all[0].Agent != "first" || len(l.known) != maxHarvesters || len(l.agents) != maxHarvesters {
		t.Errorf("%d harvesters, %d keys, %d addresses, the first is %+v", len(all), len(l.known), len(l.agents), all[0])
	}
}

func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New()
		l.Observe(answer("a", "192.0.2.1:5", "changelist"))
		time.Sleep(Retention / 2)
		l.Observe(answer("b", "192.0.2.1:5", "changelist"))
		time.Sleep(Retention/2 - 1)
		if got := names(l); got != "b@192.0.2.1 a@192.0.2.1" {
			t.Errorf("before the end: %s", got)
		}
		time.Sleep(time.Nanosecond)
		if got := names(l); got != "b@192.0.2.1" {
			t.Errorf("at the end: %s", got)
		}
		time.Sleep(Retention)
		if l.Len() != 0 || len(l.agents) != 0 {
			t.Errorf("%d harvesters, %v", l.Len(), l.agents)
		}
	})
}

func TestConcurrent(t *testing.T) {
	l := New()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 500 {
				l.Observe(answer("a", fmt.Sprintf("192.0.2.%d:1", (i*j)%250), "changelist"))
				l.Recent(3)
			}
		})
	}
	wg.Wait()
}

func BenchmarkObserve(b *testing.B) {
	l := New()
	var all []rshttp.Answer
	for i := range 2 * maxHarvesters {
		all = append(all, answer("harvester/1.0 (https://example.org/)", fmt.Sprintf("198.51.%d.%d:1", i/256, i%256), "changelist"))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		l.Observe(all[i%len(all)])
	}
}
