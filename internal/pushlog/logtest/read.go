package logtest

import (
	"slices"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// Read returns the notifications after a number, in order, at most max, and no more than
// maxBytes unless the first alone is longer.
func reads(t *trial) {
	var numbers []int64
	for range 5 {
		before := state(t, t.one, changes)
		next := after(before)
		if err := t.one.Append(t.Context(), pushlog.Notification{Topic: changes, Body: make([]byte, 100)}, before, next); err != nil {
			t.Fatalf("Append: %v", err)
		}
		numbers = append(numbers, next.Number)
	}
	t.publish(framework)
	for _, tt := range []struct {
		after         int64
		max, maxBytes int
		want          []int64
	}{
		{0, 100, 1000, numbers},
		{0, 2, 1000, numbers[:2]},
		{numbers[1], 2, 1000, numbers[2:4]},
		{numbers[4], 2, 1000, nil},
		{0, 0, 1000, nil},
		{0, 100, 350, numbers[:3]},
		{0, 100, 300, numbers[:3]},
		{numbers[2], 100, 99, numbers[3:4]},
		{0, 100, 0, numbers[:1]},
	} {
		found, err := t.other.Read(t.Context(), changes, tt.after, tt.max, tt.maxBytes)
		if err != nil {
			t.Fatalf("Read: %v", err)
		}
		var got []int64
		for _, m := range found {
			got = append(got, m.Number)
			if m.Topic != changes || m.Made.IsZero() {
				t.Errorf("notification %d of %s, made %v", m.Number, m.Topic, m.Made)
			}
			if len(m.Body) != 100 {
				t.Errorf("notification %d has %d bytes", m.Number, len(m.Body))
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("Read after %d, at most %d or %d bytes, returned %d instead of %d", tt.after, tt.max, tt.maxBytes, got, tt.want)
		}
	}
	if found, err := t.other.Read(t.Context(), "https://example.org/none/", 0, 10, 1000); err != nil || len(found) > 0 {
		t.Errorf("an unknown topic has notifications %v, %v", found, err)
	}
}
