package logtest

import (
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// Expire removes subscriptions that have expired, and no others.
func expiresSubscriptions(t *trial) {
	t.subscribed(changes, "a")
	t.subscribe(ask(changes, "expired"), time.Now().Add(-time.Second))
	t.subscribe(ask(framework, "expired"), time.Now().Add(-time.Hour))
	t.clear(time.Time{})
	if all := t.all(); len(all) != 1 || all[0].Callback != "https://a" {
		t.Errorf("one of three has not expired, and the log has %+v", all)
	}
	if err := t.one.Request(t.Context(), ask(changes, "b"), pushlog.Limits{Topic: 2}); err != nil {
		t.Errorf("expired subscriptions count for limits: %v", err)
	}
}

// Expire removes requests that are older than an hour, claimed or not.
func expiresRequests(t *trial) {
	for callback, age := range map[string]time.Duration{"new": 0, "old": 59 * time.Minute, "ancient": 61 * time.Minute} {
		r := ask(changes, callback)
		r.Made = time.Now().Add(-age)
		t.request(r)
	}
	var ancient pushlog.Request
	for _, r := range t.claimRequests(t.one, ann, 10) {
		if r.Callback == "https://ancient" {
			ancient = r
		}
	}
	r := ask(framework, "ancient, too")
	r.Made = time.Now().Add(-2 * time.Hour)
	t.request(r)
	t.clear(time.Time{})
	t.stale("Apply of a request that was cleared away", t.one.Apply(t.Context(), ann, ancient, time.Now().Add(time.Hour)))
	t.elapse(pushlog.VerifyTime + time.Millisecond)
	var got []string
	for _, r := range t.claimRequests(t.one, bob, 10) {
		got = append(got, r.Callback)
	}
	slices.Sort(got)
	if want := []string{"https://new", "https://old"}; !slices.Equal(got, want) {
		t.Errorf("after Clear, the requests are of %q instead of %q", got, want)
	}
}
