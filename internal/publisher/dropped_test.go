package publisher

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/topic"
)

// Notifications that retention drops before a subscriber has accepted them are logged,
// once, and counted.
func TestV24_Dropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		set, log := memory.New(nil), pushlog.NewMemory()
		c := changeChannel(set)
		c.OwnHub = "https://example.org/websub/"
		p, stop := run(t, log, []Channel{c}, &topic.Options{Retain: 2 * time.Hour, Logger: slog.New(slog.NewTextHandler(&text, nil))})
		time.Sleep(time.Minute)
		for _, host := range []string{"well", "down", "broken"} {
			r := pushlog.Request{Topic: changeTopic, Callback: "http://" + host + "/", Host: host, Client: host, Lease: 24 * time.Hour, Made: time.Now()}
			if err := log.Request(t.Context(), r, pushlog.Limits{}); err != nil {
				t.Fatal(err)
			}
			claimed, err := log.ClaimRequests(t.Context(), "owner", 1)
			if err != nil || len(claimed) != 1 {
				t.Fatalf("%+v, %v", claimed, err)
			}
			if err := log.Apply(t.Context(), "owner", claimed[0], time.Now().Add(r.Lease)); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 3 {
			put(t, set, n)
			time.Sleep(time.Minute)
		}
		claimed, err := log.Claim(t.Context(), "owner", 3)
		if err != nil || len(claimed) != 3 {
			t.Fatalf("%+v, %v", claimed, err)
		}
		for _, s := range claimed {
			progress := s.Progress
			progress.Release = true
			if s.Host == "well" {
				progress.Taken = 3
			}
			if _, err := log.Save(t.Context(), "owner", []pushlog.Progress{progress}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(4 * time.Hour)
		stop()
		if n := p.Counters().Lost; n != 4 {
			t.Errorf("%d are lost", n)
		}
		var dropped int
		for line := range strings.Lines(text.String()) {
			if strings.Contains(line, "retention has dropped") {
				var n, subscriptions int
				_, rest, _ := strings.Cut(line, "notifications=")
				if _, err := fmt.Sscanf(rest, "%d subscriptions=%d", &n, &subscriptions); err != nil || subscriptions != 2 {
					t.Errorf("logged %q", line)
				}
				dropped += n
			}
		}
		if dropped != 2 {
			t.Errorf("%d notifications are logged as dropped:\n%s", dropped, &text)
		}
	})
}
