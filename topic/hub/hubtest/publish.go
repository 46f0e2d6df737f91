package hubtest

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// Publish: it appends a message, gives it a number that rises, and keeps all of it.
func publishes(t *trial) {
	var last int64
	for i, topic := range []string{changes, framework, changes} {
		want := hub.Message{
			Topic:       topic,
			ID:          fmt.Sprintf("%d", i),
			ContentType: "application/xml",
			Links:       `<https://example.org/?ä>; rel="self"`,
			Body:        bytes.Repeat([]byte("\x00\xff<urlset/>"), 100_000*i+1),
			Published:   time.Now(),
		}
		m := want
		m.Number, m.Body = 77, bytes.Clone(m.Body)
		number, err := t.both()[i%2].Publish(t.Context(), m)
		if err != nil {
			t.Fatalf("Publish: %v", err)
		}
		clear(m.Body) // the caller may use it again
		if topic == changes {
			if number <= last {
				t.Errorf("after number %d comes %d", last, number)
			}
			last = number
		}
		want.Number = number
		for _, s := range t.both() {
			found, err := s.Messages(t.Context(), topic, number-1, 10, 1<<30)
			if err != nil || len(found) != 1 {
				t.Fatalf("after Publish of number %d there are %d messages after %d, %v", number, len(found), number-1, err)
			}
			got := found[0]
			same := sameTime(got.Published, want.Published) && bytes.Equal(got.Body, want.Body)
			expected := want
			got.Body, expected.Body, got.Published = nil, nil, want.Published
			if !same || fmt.Sprint(got) != fmt.Sprint(expected) {
				t.Errorf("message %d has become %+v", i, got)
			}
		}
	}
}

// twice: a message of the same topic and ID is not appended again.
func publishesTwice(t *trial) {
	m := hub.Message{Topic: changes, ID: "id", Body: []byte("1"), Published: time.Now()}
	got := make([]int64, 8)
	publish := func() {
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() {
				number, err := t.both()[i%2].Publish(t.Context(), m)
				if err != nil {
					t.Errorf("Publish: %v", err)
				}
				got[i] = number
			})
		}
		wg.Wait()
		if all := t.numbers(changes); len(all) == 0 || slices.ContainsFunc(got, func(n int64) bool { return n != all[0] }) {
			t.Errorf("a message published several times has the numbers %d, and there are %d", got, all)
		}
	}
	publish()
	if n := len(t.numbers(changes)); n != 1 {
		t.Errorf("a message published several times is there %d times", n)
	}
	t.publish(changes, 0)
	publish()
	if n := len(t.numbers(changes)); n != 2 {
		t.Errorf("a message published again after another is there: %d messages", n)
	}
	m.Topic = framework
	if _, err := t.one.Publish(t.Context(), m); err != nil {
		t.Fatalf("Publish: %v", err)
	}
	if n := len(t.numbers(framework)); n != 1 {
		t.Errorf("the ID of another topic's message hides one: %d messages", n)
	}
}

// race: however many publish at the same time, nobody who reads sees a number
// before one below it.
func publishesRace(t *trial) {
	const writers, each = 6, 20
	var writing, reading sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			for n := range each {
				m := hub.Message{Topic: changes, ID: fmt.Sprintf("%d-%d", i, n), Body: []byte("x"), Published: time.Now()}
				if _, err := t.both()[i%2].Publish(t.Context(), m); err != nil {
					t.Errorf("Publish: %v", err)
					return
				}
			}
		})
	}
	written := make(chan struct{})
	for _, s := range t.both() {
		reading.Go(func() {
			var last int64
			seen := map[string]bool{}
			for end := false; ; {
				select {
				case <-written:
					end = true
				default:
				}
				found, err := s.Messages(t.Context(), changes, last, 5, 1<<20)
				if err != nil {
					t.Errorf("Messages: %v", err)
					return
				}
				for _, m := range found {
					if m.Number <= last {
						t.Errorf("after number %d comes %d", last, m.Number)
					}
					last = m.Number
					seen[m.ID] = true
				}
				if end && len(found) == 0 {
					break
				}
				time.Sleep(time.Millisecond)
			}
			if len(seen) != writers*each {
				t.Errorf("%d messages were published, and one who went from number to number has seen %d", writers*each, len(seen))
			}
		})
	}
	writing.Wait()
	close(written)
	reading.Wait()
}

// Messages: those after a number, in order, at most max, and no more than maxBytes
// unless the first alone is longer.
func messages(t *trial) {
	var numbers []int64
	for i := range 5 {
		number, err := t.one.Publish(t.Context(), hub.Message{
			Topic: changes, ID: fmt.Sprint(i), Body: make([]byte, 100), Published: time.Now()})
		if err != nil {
			t.Fatalf("Publish: %v", err)
		}
		numbers = append(numbers, number)
	}
	t.publish(framework, 0)
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
		found, err := t.other.Messages(t.Context(), changes, tt.after, tt.max, tt.maxBytes)
		if err != nil {
			t.Fatalf("Messages: %v", err)
		}
		var got []int64
		for _, m := range found {
			got = append(got, m.Number)
			if len(m.Body) != 100 {
				t.Errorf("message %d has %d bytes", m.Number, len(m.Body))
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("Messages after %d, at most %d or %d bytes, are %d instead of %d", tt.after, tt.max, tt.maxBytes, got, tt.want)
		}
	}
	if found, err := t.other.Messages(t.Context(), "https://example.org/none/", 0, 10, 1000); err != nil || len(found) > 0 {
		t.Errorf("an unknown topic has messages %v, %v", found, err)
	}
}
