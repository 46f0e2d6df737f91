package logtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// Save keeps every field of the progress. A released subscription can be claimed.
func saves(t *trial) {
	const n = 20
	for i := range n {
		t.subscribed(changes, fmt.Sprint(i))
	}
	numbers := []int64{t.publish(changes), t.publish(changes)}
	var progress []pushlog.Progress
	for i, s := range t.claim(t.one, ann, 100) {
		p := s.Progress
		p.Taken, p.Release = numbers[0], true
		p.Delivered, p.GivenUp, p.LastGivenUp = int64(i), 2, 3
		p.LastDelivered = time.Now().Add(-time.Minute / 4)
		p.Failures, p.FailingSince, p.Retry = 4, time.Now().Add(-time.Hour), time.Now().Add(-time.Minute)
		p.RefusedSince = time.Now().Add(-time.Minute / 2)
		p.LastError = fmt.Sprintf("%d {\"ä\\,}", i)
		switch i {
		case 0: // no longer a failure
			p.Failures, p.FailingSince, p.Retry, p.LastError, p.RefusedSince = 0, time.Time{}, time.Time{}, "", time.Time{}
		case 1: // an error that is not valid text
			p.LastError = "\xff\x00" + strings.Repeat("é", 1000)
		}
		progress = append(progress, p)
	}
	if lost := t.save(t.other, ann, progress...); len(lost) != 0 {
		t.Errorf("of the claimed subscriptions, %d are lost", lost)
	}
	claimed := t.claim(t.other, bob, 100)
	if len(claimed) != n {
		t.Errorf("of %d released subscriptions, %d can be claimed", n, len(claimed))
	}
	for _, s := range claimed {
		i := slices.IndexFunc(progress, func(p pushlog.Progress) bool { return p.ID == s.ID })
		want := progress[i]
		want.Release = false
		if i == 1 {
			want.LastError = s.Progress.LastError
		}
		if !sameProgress(s.Progress, want) {
			t.Errorf("%+v was saved, and read as %+v", want, s.Progress)
		}
	}
	if lost := t.save(t.one, ann); len(lost) != 0 {
		t.Errorf("Save of nothing: %d are lost", lost)
	}
}

// Save renews a claim for ClaimTime.
func savesRenew(t *trial) {
	t.subscribed(changes, "a")
	t.publish(changes)
	p := t.claimOne(t.one, ann).Progress
	for range 3 {
		watch := t.stopwatch()
		if lost := t.save(t.one, ann, p); len(lost) != 0 {
			t.Fatalf("Save by the owner: %d are lost", lost)
		}
		t.elapse(pushlog.ClaimTime * 3 / 4)
		got := t.claim(t.other, bob, 10)
		if len(got) != 0 {
			if watch() < pushlog.ClaimTime/4 {
				t.Errorf("a subscription whose claim was renewed can be claimed")
			}
			return // a slow machine has taken the rest of the time
		}
	}
	t.elapse(pushlog.ClaimTime/4 + time.Millisecond)
	// An expired claim remains until another process claims the subscription.
	if lost := t.save(t.one, ann, p); len(lost) != 0 {
		t.Errorf("subscriptions without another claim are lost: %d", lost)
	}
	t.elapse(pushlog.ClaimTime + time.Millisecond)
	t.claimOne(t.other, bob)
}

// Save does not change a subscription that has ended, or that its owner has not claimed,
// and returns its ID.
func savesLost(t *trial) {
	callbacks := []string{"mine", "theirs", "free", "ended", "unsubscribed"}
	for _, callback := range callbacks {
		t.subscribed(changes, callback)
		t.publish(changes)
		// A claim lasts until Retry. So it does not end however slow the machine is.
		owner := ann
		if callback == "theirs" {
			owner = bob
		}
		p := t.claimOne(t.one, owner).Progress
		p.Retry, p.Release = time.Now().Add(time.Hour), callback == "free"
		t.save(t.one, owner, p)
	}
	id := func(callback string) int64 {
		s, _ := t.find(changes, "https://"+callback)
		return s.ID
	}
	var progress []pushlog.Progress
	var want []int64
	for _, callback := range callbacks {
		progress = append(progress, pushlog.Progress{ID: id(callback), Cursor: pushlog.Cursor{Taken: 1 << 40}, Delivered: 1, Release: true})
		if callback != "mine" {
			want = append(want, id(callback))
		}
	}
	progress = append(progress, pushlog.Progress{ID: 1 << 40})
	want = append(want, 1<<40)
	if err := t.other.End(t.Context(), id("ended")); err != nil {
		t.Fatalf("End: %v", err)
	}
	end := ask(changes, "unsubscribed")
	end.End = true
	t.subscribe(end, time.Now())

	lost := t.save(t.other, ann, progress...)
	slices.Sort(lost)
	if slices.Sort(want); !slices.Equal(lost, want) {
		t.Errorf("of six subscriptions, one of them claimed by the owner, %d are lost instead of %d", lost, want)
	}
	for _, s := range t.all() {
		if saved := s.Progress.Delivered == 1; saved != (s.Callback == "https://mine") {
			t.Errorf("%s was saved: %v", s.Callback, saved)
		}
	}
	t.none("was lost, or has taken everything,")
}

// Save stores and releases a subscription that a request has changed since it was claimed,
// and returns its ID.
func savesChanged(t *trial) {
	t.subscribed(changes, "a")
	first, second := t.publish(changes), t.publish(changes)
	p := t.claimOne(t.one, ann).Progress
	r := ask(changes, "a")
	r.Secret = []byte("new")
	t.subscribe(r, time.Now().Add(2*time.Hour))
	t.none("is claimed by another owner")
	p.Taken, p.Delivered = first, 1
	if lost := t.save(t.one, ann, p); !slices.Equal(lost, []int64{p.ID}) {
		t.Errorf("Save of a subscription that has changed: %d are lost", lost)
	}
	if lost := t.save(t.one, ann, pushlog.Progress{ID: p.ID, Cursor: pushlog.Cursor{Taken: second}}); !slices.Equal(lost, []int64{p.ID}) {
		t.Errorf("Save of a subscription that is lost: %d are lost", lost)
	}
	got := t.claimOne(t.other, bob)
	if string(got.Secret) != "new" || !sameProgress(got.Progress, p) {
		t.Errorf("after Save of %+v and a new secret, %+v is claimed", p, got)
	}
	got.Progress.Taken, got.Progress.Release = second, true
	if lost := t.save(t.other, bob, got.Progress); len(lost) != 0 {
		t.Errorf("Save of a subscription claimed after the change: %d are lost", lost)
	}
	// A request simply changes an unclaimed subscription.
	t.subscribe(ask(changes, "a"), time.Now().Add(3*time.Hour))
	t.publish(changes)
	got = t.claimOne(t.other, bob)
	if lost := t.save(t.other, bob, got.Progress); got.Secret != nil || len(lost) != 0 {
		t.Errorf("Save of a subscription changed before it was claimed: secret %q, %d are lost", got.Secret, lost)
	}
}

// Save with End ends a subscription, unless a request has changed it since it was claimed
// or another owner has claimed it.
func savesEnd(t *trial) {
	for _, callback := range []string{"gone", "renewed", "theirs", "stays"} {
		t.subscribed(changes, callback)
	}
	newest := t.publish(changes)
	progress := map[string]pushlog.Progress{}
	for _, s := range t.claim(t.one, ann, 10) {
		p := s.Progress
		p.End = s.Callback != "https://stays"
		progress[s.Callback] = p
	}
	r := ask(changes, "renewed")
	r.Secret = []byte("new")
	t.subscribe(r, time.Now().Add(2*time.Hour))

	all := []pushlog.Progress{progress["https://gone"], progress["https://renewed"], progress["https://stays"]}
	if lost := t.save(t.one, ann, all...); !slices.Equal(lost, []int64{progress["https://renewed"].ID}) {
		t.Errorf("of three that end, one of them renewed, %d are lost", lost)
	}
	t.elapse(pushlog.ClaimTime + time.Millisecond)
	claimed := map[string]pushlog.Subscription{}
	for _, s := range t.claim(t.other, bob, 10) {
		claimed[s.Callback] = s
		if s.Progress.End || s.Progress.Release {
			t.Errorf("the instructions to Save are kept: %+v", s.Progress)
		}
	}
	if s, found := claimed["https://renewed"]; !found || string(s.Secret) != "new" || s.Progress.Taken == newest {
		t.Errorf("a renewed subscription is claimed as %+v", claimed)
	}
	if lost := t.save(t.one, ann, progress["https://theirs"], progress["https://gone"]); len(lost) != 2 {
		t.Errorf("of one that another owner has claimed and one that has ended, %d are lost", lost)
	}
	var left []string
	for _, s := range t.all() {
		left = append(left, s.Callback)
	}
	if want := []string{"https://renewed", "https://theirs", "https://stays"}; !slices.Equal(left, want) || len(claimed) != 3 {
		t.Errorf("%q are left instead of %q; %+v were claimed", left, want, claimed)
	}
	if err := t.one.Request(t.Context(), ask(changes, "new"), pushlog.Limits{Topic: 4}); err != nil {
		t.Errorf("ended subscriptions count for limits: %v", err)
	}
}

// End ends a subscription permanently, even if it is claimed.
func ends(t *trial) {
	a := t.subscribed(changes, "a")
	b := t.subscribed(changes, "b")
	t.publish(changes)
	if n := len(t.claim(t.one, ann, 10)); n != 2 {
		t.Fatalf("%d of 2 subscriptions were claimed", n)
	}
	for range 2 { // ending it again is not an error
		if err := t.other.End(t.Context(), a.ID); err != nil {
			t.Fatalf("End: %v", err)
		}
		if all := t.all(); len(all) != 1 || all[0].ID != b.ID {
			t.Errorf("one of two has ended, and the log has %+v", all)
		}
	}
	t.elapse(pushlog.ClaimTime + time.Millisecond)
	if got := t.claimOne(t.other, bob); got.ID != b.ID {
		t.Errorf("an ended subscription is claimed: %+v", got)
	}
	if err := t.one.Request(t.Context(), ask(changes, "c"), pushlog.Limits{Topic: 2}); err != nil {
		t.Errorf("ended subscriptions count for limits: %v", err)
	}
}

// Subscriptions yields all subscriptions, by ID.
func subscriptions(t *trial) {
	if all := t.all(); len(all) != 0 {
		t.Errorf("an empty store has %+v", all)
	}
	var want []int64
	for i := range 12 {
		expires := time.Now().Add(time.Duration(6-i) * time.Hour)
		want = append(want, t.subscribe(ask([]string{changes, framework}[i%2], fmt.Sprint(99-i)), expires).ID)
	}
	slices.Sort(want)
	for range 2 {
		var got []int64
		for _, s := range t.all() {
			got = append(got, s.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("there are %d subscriptions instead of %d", got, want)
		}
		// The caller may stop, and may change the store during the iteration.
		for s, err := range t.one.Subscriptions(t.Context()) {
			if err != nil {
				t.Fatalf("Subscriptions: %v", err)
			}
			if err := t.one.End(t.Context(), s.ID); err != nil {
				t.Fatalf("End: %v", err)
			}
			want = want[1:]
			break
		}
	}
}
