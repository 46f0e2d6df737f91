package logtest

import (
	"context"
	"errors"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// Lead: it runs f while no other process does, and reports whether it could.
func leads(t tb, one, other pushlog.Log) {
	failure := errors.New("failure")
	for _, o := range []pushlog.Log{one, other, one} {
		ran := false
		led, err := o.Lead(t.Context(), func(ctx context.Context) error {
			ran = true
			if err := ctx.Err(); err != nil {
				t.Errorf("the context of one who leads: %v", err)
			}
			for _, o := range []pushlog.Log{one, other} {
				led, err := o.Lead(ctx, func(context.Context) error {
					t.Errorf("two lead at the same time")
					return nil
				})
				if led || err != nil {
					t.Errorf("Lead while another leads returned %v, %v", led, err)
				}
			}
			// One who leads can add.
			add(t, o, changes, 1)
			return failure
		})
		if !ran || !led || !errors.Is(err, failure) {
			t.Errorf("Lead ran: %v, and returned %v, %v instead of what f has", ran, led, err)
		}
	}
	if led, err := one.Lead(t.Context(), func(context.Context) error { return nil }); !led || err != nil {
		t.Errorf("Lead returned %v, %v", led, err)
	}
}

// end: f's context ends with the caller's.
func leadEnds(t tb, one, other pushlog.Log) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	led, err := one.Lead(ctx, func(ctx context.Context) error {
		cancel()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(watchTimeout):
			return errors.New("f's context has not ended")
		}
	})
	if !led || !errors.Is(err, context.Canceled) {
		t.Errorf("Lead with a context that ends returned %v, %v", led, err)
	}
	if led, err := other.Lead(t.Context(), func(context.Context) error { return nil }); !led || err != nil {
		t.Errorf("Lead after another's returned %v, %v", led, err)
	}
}

// Watch: wake is called once to begin with, and after each Add by whomever.
func watchesAppends(t tb, one, other pushlog.Log) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var woken []chan struct{}
	done := make(chan error, 2)
	for _, o := range []pushlog.Log{one, other} {
		c := make(chan struct{}, 1)
		woken = append(woken, c)
		go func() {
			done <- o.Watch(ctx, func() {
				select {
				case c <- struct{}{}:
				default:
				}
			})
		}()
	}
	// What wakes twice for one thing must not pass for the next.
	await := func(what string) {
		t.Helper()
		for i, c := range woken {
			select {
			case <-c:
			case err := <-done:
				t.Fatalf("Watch returned %v", err)
			case <-time.After(watchTimeout):
				t.Fatalf("watcher %d was not woken %s", i+1, what)
			}
			for settled := false; !settled; {
				select {
				case <-c:
				case <-time.After(100 * time.Millisecond):
					settled = true
				}
			}
		}
	}
	await("to begin with")
	for range 2 {
		add(t, one, changes, 1)
		await("when the first process added a notification")
		add(t, other, framework, 1)
		await("when the second process added a notification")
	}
}
