package logtest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// Claim: what has something to take and has not expired, for one owner.
func claims(t *trial) {
	a := t.subscribed(changes, "a")
	t.none("has nothing to take")
	t.publish(framework)
	t.none("has nothing to take")
	t.subscribe(ask(changes, "expired"), time.Now().Add(-time.Second))
	newest := t.publish(changes)
	if got := t.claim(t.one, ann, 0); len(got) != 0 {
		t.Errorf("Claim of none returned %+v", got)
	}
	got := t.claimOne(t.other, ann)
	want, _ := t.find(changes, "https://a")
	if got.ID != a.ID || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v is there and was claimed as %+v", want, got)
	}
	t.none("is claimed")
	if again := t.claim(t.one, ann, 10); len(again) != 0 {
		t.Errorf("what an owner has claimed it claims again: %+v", again)
	}
	got.Progress.Taken, got.Progress.Release = newest, true
	t.save(t.one, ann, got.Progress)
	t.none("has taken everything")
	t.publish(changes)
	t.claimOne(t.other, bob)
}

// order: those first that have waited longest, since their Retry or since the
// message they need was published.
func claimsInOrder(t *trial) {
	t.subscribed("20", "a")
	for _, topic := range []string{"50", "30", "10"} {
		t.subscribed(topic, "a")
	}
	for _, wait := range []struct {
		topic string
		next  time.Duration
	}{{"20", 10 * time.Minute}, {"50", 20 * time.Minute}, {"30", 20 * time.Minute}, {"10", 10 * time.Minute}} {
		t.publish(wait.topic)
		t.elapse(wait.next)
	}
	for _, topic := range []string{"10", "20", "30", "50"} {
		t.publish(topic)
	}
	var progress []pushlog.Progress
	for _, s := range t.claim(t.one, ann, 10) {
		p := s.Progress
		if p.Release = true; s.Topic == "20" {
			p.Failures, p.Retry = 1, time.Now().Add(-20*time.Minute)
		}
		progress = append(progress, p)
	}
	t.save(t.one, ann, progress...)
	var got []string
	for {
		claimed := t.claim(t.other, bob, 1)
		if len(claimed) == 0 {
			break
		}
		got = append(got, claimed[0].Topic)
	}
	if want := []string{"50", "30", "20", "10"}; !slices.Equal(got, want) {
		t.Errorf("subscriptions that have waited for %q minutes are claimed as %q", want, got)
	}
}

// retry: nothing is claimed before its Retry.
func claimsAfterRetry(t *trial) {
	t.subscribed(changes, "a")
	t.publish(changes)
	p := t.claimOne(t.one, ann).Progress
	p.Failures, p.Retry, p.Release = 1, time.Now().Add(time.Hour), true
	t.save(t.one, ann, p)
	t.none("is to be tried in an hour")
	t.publish(changes)
	t.none("is to be tried in an hour")
	t.elapse(2 * pushlog.ClaimTime)
	t.none("is to be tried in an hour")

	t.subscribed(framework, "b")
	t.publish(framework)
	p = t.claimOne(t.one, ann).Progress
	p.Failures, p.Retry, p.Release = 1, time.Now().Add(time.Second), true
	t.save(t.one, ann, p)
	t.elapse(time.Second + time.Millisecond)
	if got := t.claimOne(t.other, bob); got.Topic != framework || got.Progress.Failures != 1 {
		t.Errorf("after a Retry has come, %+v is claimed", got)
	}
}

// race: each is claimed by one, and nobody is forgotten.
func claimsRace(t *trial) {
	const n = 30
	for i := range n {
		t.subscribed([]string{changes, framework}[i%2], fmt.Sprint(i))
	}
	t.publish(changes)
	t.publish(framework)
	var wg sync.WaitGroup
	var mu sync.Mutex
	owners := map[int64]string{}
	for i := range 6 {
		wg.Go(func() {
			owner := fmt.Sprint(i)
			for failures := 0; failures < 3; {
				claimed, err := t.both()[i%2].Claim(t.Context(), owner, 3)
				if err != nil {
					t.Errorf("Claim: %v", err)
					return
				}
				if len(claimed) == 0 {
					failures++ // another may be at them just now
				}
				if len(claimed) > 3 {
					t.Errorf("Claim of at most 3 returned %d", len(claimed))
				}
				mu.Lock()
				for _, s := range claimed {
					if owners[s.ID] != "" {
						t.Errorf("subscription %d was claimed by %s and by %s", s.ID, owners[s.ID], owner)
						failures = 3
					}
					owners[s.ID] = owner
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(owners) != n {
		t.Errorf("of %d subscriptions %d were claimed", n, len(owners))
	}
}

// end: a claim that is not renewed lasts ClaimTime, and no longer.
func claimsEnd(t *trial) {
	t.subscribed(changes, "a")
	newest := t.publish(changes)
	watch := t.watch()
	old := t.claimOne(t.one, ann)
	t.elapse(pushlog.ClaimTime / 2)
	got := t.claim(t.other, bob, 10)
	if len(got) != 0 && watch() < pushlog.ClaimTime/2 {
		t.Errorf("what another works on can be claimed")
	}
	if len(got) == 0 {
		t.elapse(pushlog.ClaimTime/2 + time.Millisecond)
		got = []pushlog.Subscription{t.claimOne(t.other, bob)}
	}
	// The one who was taken to be dead has lost it.
	p := old.Progress
	p.Taken, p.Delivered = newest, 99
	if lost := t.save(t.one, ann, p); !slices.Equal(lost, []int64{old.ID}) {
		t.Errorf("one who has lost a claim saves, and %d are lost", lost)
	}
	if s, _ := t.find(changes, "https://a"); !sameProgress(s.Progress, got[0].Progress) {
		t.Errorf("one who has lost a claim has changed %+v to %+v", got[0].Progress, s.Progress)
	}
	p = got[0].Progress
	p.Taken, p.Release = newest, true
	if lost := t.save(t.other, bob, p); len(lost) != 0 {
		t.Errorf("the new owner saves, and %d are lost", lost)
	}
}
