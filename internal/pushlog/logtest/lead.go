package logtest

import (
	"context"
	"errors"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// Lead runs f unless another process leads, and reports whether it ran f.
func leads(t tb, one, other pushlog.Log) {
	failure := errors.New("failure")
	for _, o := range []pushlog.Log{one, other, one} {
		ran := false
		led, err := o.Lead(t.Context(), func(ctx context.Context) error {
			ran = true
			if err := ctx.Err(); err != nil {
				t.Errorf("the context of a leader: %v", err)
			}
			for _, o := range []pushlog.Log{one, other} {
				led, err := o.Lead(ctx, func(context.Context) error {
					t.Errorf("there are two leaders at the same time")
					return nil
				})
				if led || err != nil {
					t.Errorf("Lead while another leads returned %v, %v", led, err)
				}
			}
			// The leader can append.
			add(t, o, changes, 1)
			return failure
		})
		if !ran || !led || !errors.Is(err, failure) {
			t.Errorf("Lead ran: %v, and returned %v, %v instead of the result of f", ran, led, err)
		}
	}
	if led, err := one.Lead(t.Context(), func(context.Context) error { return nil }); !led || err != nil {
		t.Errorf("Lead returned %v, %v", led, err)
	}
}

// The context of f ends with the context of the caller.
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

// Watch calls wake once at the beginning, and after each Append by any process.
func watchesAppends(t tb, one, other pushlog.Log) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := watchAll(ctx, one, other)
	w.await(t, "at the beginning")
	for range 2 {
		add(t, one, changes, 1)
		w.await(t, "when the first process appended a notification")
		add(t, other, framework, 1)
		w.await(t, "when the second process appended a notification")
	}
}
