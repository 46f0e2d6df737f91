package hub

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	destination "github.com/resourcesync-go/resourcesync/internal/subscriber"
)

// V21: somebody replays a delivered message with its signature. Only the body is
// signed, so the subscriber accepts it, but from and until are part of the body, and
// show a Destination that it has had this interval.
func TestV21_Replay(t *testing.T) {
	f := newFront(t, Options{})
	n := example(t)
	s := destination.New(t, testSecret)
	s.Subscribe(f.url, n.Topic)
	within(t, "the subscription is kept", func() bool { return len(f.subscriptions()) == 1 })
	appendTo(t, f.store, n)
	arrived := func(n int) []*destination.Notification {
		t.Helper()
		return s.Await("notifications", 30*time.Second, func(taken []*destination.Notification) bool { return len(taken) == n })
	}
	once, err := destination.Replay(arrived(1))
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodPost, f.subscriptions()[0].Callback, strings.NewReader(s.Taken()[0].Body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Hub-Signature", sign("sha256", []byte(testSecret), n.Body))
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusNoContent {
		t.Fatal(answer, err)
	}
	answer.Body.Close()
	for _, taken := range arrived(2) {
		if m := taken.Head.Metadata; m.From.IsZero() || !m.From.Before(m.Until) || taken.Body != string(n.Body) {
			t.Errorf("delivered %+v", m)
		}
	}
	twice, err := destination.Replay(s.Taken())
	if err != nil || !reflect.DeepEqual(once, twice) || len(once.Changes) == 0 {
		t.Errorf("once %+v, twice %+v, %v", once, twice, err)
	}
}
