package logtest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// Claim claims subscriptions that have a notification to take and have not expired, for
// one owner.
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
		t.Errorf("%+v was claimed as %+v", want, got)
	}
	t.none("is claimed")
	if again := t.claim(t.one, ann, 10); len(again) != 0 {
		t.Errorf("an owner has claimed subscriptions twice: %+v", again)
	}
	got.Progress.Taken, got.Progress.Release = newest, true
	t.save(t.one, ann, got.Progress)
	t.none("has taken everything")
	t.publish(changes)
	t.claimOne(t.other, bob)
}

// Claim prefers the subscriptions that have waited longest, since their Retry or since the
// notification that they need was appended.
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

// Claim claims no subscription before its Retry.
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
		t.Errorf("after the time of a Retry, %+v is claimed", got)
	}
}

// Each subscription is claimed by exactly one process.
func claimsRace(t *trial) {
	const n = 30
	for i := range n {
		t.subscribed([]string{changes, framework}[i%2], fmt.Sprint(i))
	}
	t.publish(changes)
	t.publish(framework)
	t.claimInParallel("subscriptions", n, func(l pushlog.Log, owner string) (ids []int64, err error) {
		claimed, err := l.Claim(t.Context(), owner, claimMax)
		for _, s := range claimed {
			ids = append(ids, s.ID)
		}
		return ids, err
	})
}

// claimMax is the maximum number of claims at once in [trial.claimInParallel].
const claimMax = 3

// claimInParallel calls claim in several goroutines with different owners, until it returns
// no ids. Each of the n things must be claimed exactly once.
func (t *trial) claimInParallel(what string, n int, claim func(l pushlog.Log, owner string) ([]int64, error)) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	owners := map[int64]string{}
	for i := range 6 {
		wg.Go(func() {
			owner := fmt.Sprint(i)
			for failures := 0; failures < 3; {
				ids, err := claim(t.both()[i%2], owner)
				if err != nil {
					t.Errorf("claiming %s: %v", what, err)
					return
				}
				if len(ids) == 0 {
					failures++ // another process may be claiming the rest
				}
				if len(ids) > claimMax {
					t.Errorf("%d %s were claimed, more than %d", len(ids), what, claimMax)
				}
				mu.Lock()
				for _, id := range ids {
					if owners[id] != "" {
						t.Errorf("%s: %d was claimed by %s and by %s", what, id, owners[id], owner)
						failures = 3
					}
					owners[id] = owner
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(owners) != n {
		t.Errorf("of %d %s, %d were claimed", n, what, len(owners))
	}
}

// A claim that is not renewed lasts for ClaimTime.
func claimsEnd(t *trial) {
	t.subscribed(changes, "a")
	newest := t.publish(changes)
	watch := t.stopwatch()
	old := t.claimOne(t.one, ann)
	t.elapse(pushlog.ClaimTime / 2)
	got := t.claim(t.other, bob, 10)
	if len(got) != 0 && watch() < pushlog.ClaimTime/2 {
		t.Errorf("a subscription that another owner has claimed can be claimed")
	}
	if len(got) == 0 {
		t.elapse(pushlog.ClaimTime/2 + time.Millisecond)
		got = []pushlog.Subscription{t.claimOne(t.other, bob)}
	}
	// The previous owner has lost its claim.
	p := old.Progress
	p.Taken, p.Delivered = newest, 99
	if lost := t.save(t.one, ann, p); !slices.Equal(lost, []int64{old.ID}) {
		t.Errorf("Save by an owner that has lost its claim: %d are lost", lost)
	}
	if s, _ := t.find(changes, "https://a"); !sameProgress(s.Progress, got[0].Progress) {
		t.Errorf("an owner that has lost its claim has changed %+v to %+v", got[0].Progress, s.Progress)
	}
	p = got[0].Progress
	p.Taken, p.Release = newest, true
	if lost := t.save(t.other, bob, p); len(lost) != 0 {
		t.Errorf("Save by the new owner: %d are lost", lost)
	}
}
