package topic

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
)

// A submitter is a hub in this process.
type submitter struct {
	mu     sync.Mutex
	topics []string
	errs   []error // of the next submissions
	taken  []Notification
	tries  int
}

func (s *submitter) Register(topics ...string) { s.topics = append(s.topics, topics...) }

func (s *submitter) Submit(_ context.Context, n Notification) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	if len(s.errs) > 0 {
		err := s.errs[0]
		s.errs = s.errs[1:]
		if err != nil {
			return err
		}
	}
	s.taken = append(s.taken, n)
	return nil
}

// TestSubmitter gives notifications to a hub in the same process, tries again what
// fails, and goes on after what is refused.
func TestSubmitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &submitter{errs: []error{nil, errors.New("disk full"), errors.New("disk full"), nil, &RefusedError{Reason: "too long"}}}
		hub := Hub{URI: "https://museum.example.org/websub/", Submitter: s}
		set, outbox := memory.New(nil), NewMemoryOutbox()
		p, stop := run(t, outbox, []Channel{changeChannel(set, hub), frameworkChannel(&documents{}, hub)}, nil)
		defer stop()
		if !slices.Equal(s.topics, []string{changeTopic, frameworkTopic}) {
			t.Errorf("registered %v", s.topics)
		}
		time.Sleep(time.Minute)
		for n := range 4 {
			put(t, set, n)
			time.Sleep(time.Minute)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		var numbers []int64
		for _, n := range s.taken {
			numbers = append(numbers, n.Number)
			if n.Topic != changeTopic || n.CapabilityList != capabilityList || n.From.IsZero() || !n.Until.After(n.From) || len(n.Body) == 0 {
				t.Errorf("submitted %+v", n)
			}
		}
		if !slices.Equal(numbers, []int64{1, 2, 4}) || s.tries != 6 {
			t.Errorf("taken %v after %d attempts", numbers, s.tries)
		}
		status, err := p.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if h := status.Topics[0].Hubs[0]; h.Taken != 4 || h.Refused != 1 || h.LastRefused != 3 || h.RefusedError != "too long" || h.Failures != 0 {
			t.Errorf("status %+v", h)
		}
		want := Counters{Notifications: 4, Changes: 4, Taken: 3, Failures: 2, Refused: 1}
		if got := p.Counters(); got != want {
			t.Errorf("counters %+v, want %+v", got, want)
		}
	})
}
