package logtest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// Request keeps every field of a request, and assigns an ID.
func requests(t *trial) {
	seen := map[int64]bool{}
	for i, want := range []pushlog.Request{
		{Topic: changes, Callback: "https://example.org/cb?a=%20&b=\xff&c=ä", Host: "example.org", Client: "2001:db8::1",
			Secret: []byte("\x00\xffgeheim"), Lease: 300*time.Second + time.Microsecond, Made: time.Now()},
		{Topic: framework, Callback: "http://127.0.0.1/", Host: "127.0.0.1", Client: "", End: true, Made: time.Now().Add(-time.Minute)},
	} {
		r := want
		r.ID, r.Secret = 77, bytes.Clone(r.Secret)
		t.request(r)
		clear(r.Secret) // the caller may use it again
		claimed := t.claimRequests(t.one, ann, 10)
		if len(claimed) != 1 {
			t.Fatalf("one request was made, and %d can be claimed", len(claimed))
		}
		got := claimed[0]
		if got.ID == 0 || seen[got.ID] {
			t.Errorf("a request has the ID %d, others %v", got.ID, seen)
		}
		seen[got.ID] = true
		same := bytes.Equal(got.Secret, want.Secret) && (got.Secret == nil) == (want.Secret == nil) && sameTime(got.Made, want.Made)
		got.ID, got.Secret, want.Secret, got.Made = 0, nil, nil, want.Made
		if !same || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("request %d %+v was claimed as %+v", i, want, got)
		}
	}
}

// A request replaces the one with the same topic and callback, claimed or not.
func requestsReplaced(t *trial) {
	t.request(ask(changes, "a"))
	second := ask(changes, "a")
	second.Secret = []byte("second")
	claimed := t.claimRequest(second)
	if string(claimed.Secret) != "second" {
		t.Errorf("the earlier of two requests is in effect")
	}
	third := ask(changes, "a")
	third.Secret = []byte("third")
	t.request(third)
	t.stale("Apply of a request that has been replaced", t.one.Apply(t.Context(), ann, claimed, time.Now().Add(time.Hour)))
	t.stale("Drop of a request that has been replaced", t.one.Drop(t.Context(), ann, claimed))
	if all := t.all(); len(all) != 0 {
		t.Errorf("a request that has been replaced was applied: %+v", all)
	}
	// A request with another topic or callback is not replaced.
	t.request(ask(framework, "a"))
	t.request(ask(changes, "b"))
	var got []string
	for _, r := range t.claimRequests(t.one, ann, 10) {
		got = append(got, string(r.Secret)+r.Topic+r.Callback)
	}
	if want := []string{"third" + changes + "https://a", framework + "https://a", changes + "https://b"}; !slices.Equal(got, want) {
		t.Errorf("the requests are %q instead of %q", got, want)
	}
}

// Each limit is exact, and the error names it. A request beyond a limit is not kept.
func requestsLimited(t *trial) {
	limited := func(r pushlog.Request, limits pushlog.Limits, want string) {
		t.Helper()
		err := t.other.Request(t.Context(), r, limits)
		var limit *pushlog.LimitError
		switch {
		case want == "":
			if err != nil {
				t.Errorf("a request within the limits %+v: %v", limits, err)
			}
		case !errors.As(err, &limit):
			t.Errorf("a request beyond the limits %+v: %v", limits, err)
		case limit.What != want:
			t.Errorf("a request beyond the limit %q: %v", want, err)
		}
	}
	on := func(topic, callback, host, client string) pushlog.Request {
		r := ask(topic, callback)
		r.Host, r.Client = host, client
		return r
	}
	// A subscription and two requests, all of one host and topic.
	expires := time.Now().Add(time.Hour)
	t.subscribe(on(changes, "h/1", "h", "c"), expires)
	t.request(on(changes, "h/2", "h", "c"))
	t.request(on(changes, "h/3", "h", "c"))
	t.claimRequests(t.one, ann, 1) // a claimed request counts, too

	limited(on(changes, "h/4", "h", "d"), pushlog.Limits{Host: 3}, "host")
	limited(on(changes, "h/4", "h", "d"), pushlog.Limits{HostPending: 2}, "host pending")
	limited(on(framework, "i/4", "i", "c"), pushlog.Limits{ClientPending: 2}, "client pending")
	limited(on(framework, "i/4", "i", "c"), pushlog.Limits{Client: 3}, "client")
	limited(on(changes, "i/4", "i", "d"), pushlog.Limits{Topic: 3}, "topic")
	limited(on(framework, "i/4", "i", "d"), pushlog.Limits{Pending: 2}, "pending")
	if n := len(t.claimRequests(t.one, bob, 10)); n != 1 {
		t.Errorf("%d requests can be claimed, although 1 was kept", n)
	}
	// Requests of other hosts, clients and topics do not count.
	limited(on(framework, "i/1", "i", "d"), pushlog.Limits{Host: 1, HostPending: 1, Client: 1, ClientPending: 1, Topic: 1, Pending: 3}, "")
	limited(on(changes, "h/4", "h", "d"), pushlog.Limits{Host: 4, HostPending: 3, Topic: 4, Client: 2, ClientPending: 2}, "")
	// A replaced request does not count, and zero means no limit.
	full := pushlog.Limits{Host: 4, HostPending: 3, Client: 3, ClientPending: 2, Topic: 4, Pending: 4}
	limited(on(changes, "h/2", "h", "c"), full, "")
	limited(on(changes, "h/4", "h", "d"), full, "")
	limited(on(changes, "h/5", "h", "c"), pushlog.Limits{Pending: 4}, "pending")
	// Requests about an existing subscription are not limited.
	limited(on(changes, "h/1", "h", "e"), pushlog.Limits{Host: 1, Client: 1, Topic: 1}, "")
	limited(on(changes, "h/1", "h", "e"), pushlog.Limits{HostPending: 3}, "host pending")
	limited(on(framework, "h/1", "h", "e"), pushlog.Limits{Host: 1}, "host")
	limited(on(changes, "h/6", "h", "c"), pushlog.Limits{}, "")
}

// Limits hold for concurrent requests.
func requestsRace(t *trial) {
	limits := pushlog.Limits{Host: 7, Topic: 7, Pending: 7, Client: 7, ClientPending: 7, HostPending: 7}
	var wg sync.WaitGroup
	var mu sync.Mutex
	kept := 0
	for i := range 24 {
		wg.Go(func() {
			r := ask(changes, fmt.Sprintf("h/%d", i))
			r.Host = "h"
			err := t.both()[i%2].Request(t.Context(), r, limits)
			mu.Lock()
			defer mu.Unlock()
			var limit *pushlog.LimitError
			if err == nil {
				kept++
			} else if !errors.As(err, &limit) {
				t.Errorf("Request: %v", err)
			}
		})
	}
	wg.Wait()
	if found := len(t.claimRequests(t.one, ann, 100)); kept != 7 || found != 7 {
		t.Errorf("of 24 requests at once, with limits of 7, %d were taken and %d are kept", kept, found)
	}
}

// ClaimRequests claims the oldest requests of a client first, at most max, and none that is
// already claimed.
func claimsRequests(t *trial) {
	for i := range 5 {
		t.request(ask(changes, fmt.Sprint(i)))
	}
	var got []string
	for _, max := range []int{0, 2, 1, 10, 10} {
		claimed := t.claimRequests(t.one, ann, max)
		if len(claimed) > max {
			t.Errorf("ClaimRequests of at most %d returned %d", max, len(claimed))
		}
		for _, r := range claimed {
			got = append(got, r.Callback)
		}
	}
	if want := []string{"https://0", "https://1", "https://2", "https://3", "https://4"}; !slices.Equal(got, want) {
		t.Errorf("the requests are in the order %q instead of %q", got, want)
	}
}

// A client with fewer requests, claimed or not, comes first.
func claimsRequestsFairly(t *trial) {
	add := func(client string, n int) {
		t.Helper()
		for i := range n {
			r := ask(changes, fmt.Sprint(client, i))
			r.Client = client
			t.request(r)
		}
	}
	claim := func(max int, want ...string) {
		t.Helper()
		var got []string
		for _, r := range t.claimRequests(t.one, ann, max) {
			got = append(got, strings.TrimPrefix(r.Callback, "https://"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("the requests are in the order %q instead of %q", got, want)
		}
	}
	add("many", 5)
	add("few", 2)
	claim(3, "many0", "many1", "few0")
	add("late", 1)
	claim(2, "few1", "late0")
	claim(10, "many2", "many3", "many4")
}

// Each request is claimed by exactly one process.
func claimsRequestsRace(t *trial) {
	const n = 30
	for i := range n {
		t.request(ask(changes, fmt.Sprint(i)))
	}
	t.claimInParallel("requests", n, func(l pushlog.Log, owner string) (ids []int64, err error) {
		claimed, err := l.ClaimRequests(t.Context(), owner, claimMax)
		for _, r := range claimed {
			ids = append(ids, r.ID)
		}
		return ids, err
	})
}

// Another process can claim a request after VerifyTime, and not before.
func claimsOfRequestsEnd(t *trial) {
	watch := t.stopwatch()
	r := t.claimRequest(ask(changes, "a"))
	t.elapse(pushlog.VerifyTime / 2)
	got := t.claimRequests(t.other, bob, 10)
	if len(got) != 0 && watch() < pushlog.VerifyTime/2 {
		t.Errorf("a request that another process has claimed can be claimed")
	}
	if len(got) == 0 {
		t.elapse(pushlog.VerifyTime/2 + time.Millisecond)
		got = t.claimRequests(t.other, bob, 10)
	}
	if len(got) != 1 || got[0].ID != r.ID {
		t.Fatalf("when a claim has ended, %+v can be claimed", got)
	}
	t.stale("Apply by one whose claim has gone to another", t.one.Apply(t.Context(), ann, r, time.Now().Add(time.Hour)))
	t.stale("Drop by one whose claim has gone to another", t.one.Drop(t.Context(), ann, r))
	if err := t.other.Apply(t.Context(), bob, got[0], time.Now().Add(time.Hour)); err != nil {
		t.Errorf("Apply by the new owner: %v", err)
	}
}

// Drop drops the request and changes nothing else.
func drops(t *trial) {
	r := t.claimRequest(ask(changes, "a"))
	t.stale("Drop by another", t.one.Drop(t.Context(), bob, r))
	if err := t.other.Drop(t.Context(), ann, r); err != nil {
		t.Fatalf("Drop: %v", err)
	}
	t.stale("Drop of what has been dropped", t.one.Drop(t.Context(), ann, r))
	if all := t.all(); len(all) != 0 {
		t.Errorf("a dropped request has made a subscription: %+v", all)
	}
	s := t.subscribed(changes, "a")
	end := ask(changes, "a")
	end.End = true
	if err := t.other.Drop(t.Context(), ann, t.claimRequest(end)); err != nil {
		t.Fatalf("Drop: %v", err)
	}
	if all := t.all(); len(all) != 1 || all[0].ID != s.ID {
		t.Errorf("after Drop of a request to unsubscribe, the subscriptions are %+v", all)
	}
	t.elapse(pushlog.VerifyTime + time.Millisecond)
	if got := t.claimRequests(t.one, bob, 10); len(got) != 0 {
		t.Errorf("a dropped request is claimed: %+v", got)
	}
}
