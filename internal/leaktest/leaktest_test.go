package leaktest

import (
	"context"
	"testing"
	"time"
)

// TestGroup: a group includes goroutines that its goroutines start, and none of another
// group.
func TestGroup(t *testing.T) {
	end := make(chan struct{})
	started := make(chan struct{})
	leaky := Run(t.Context(), func(context.Context) {
		for range 3 {
			go func() {
				go func() {
					started <- struct{}{}
					<-end
				}()
				started <- struct{}{}
				<-end
			}()
			<-started
			<-started
		}
	})
	clean := Run(t.Context(), func(context.Context) {
		done := make(chan struct{})
		go close(done)
		<-done
	})
	if n := clean.Wait(0, time.Minute); n != 0 {
		t.Errorf("%d goroutines of a function that leaves none", n)
	}
	if n := leaky.Wait(5, 0); n != 6 {
		t.Errorf("%d goroutines, want 6", n)
	}
	if n := leaky.Wait(6, time.Minute); n != 6 {
		t.Errorf("%d goroutines when 6 are no leak", n)
	}
	close(end)
	if n := leaky.Wait(0, time.Minute); n != 0 {
		t.Errorf("%d goroutines after their end", n)
	}
}
