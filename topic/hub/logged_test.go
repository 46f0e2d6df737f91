package hub

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/logtest"
)

// Operators see why a subscriber does not confirm or is denied, and strangers cannot
// flood the log.
func TestUnconfirmedAndDeniedAreLogged(t *testing.T) {
	ask := func(h *Hub) {
		h.verifyRequest(context.Background(), "test", pushlog.Request{Topic: testTopic, Callback: "http://example.net/in?" + testQuery, Lease: time.Hour})
	}
	deny := func(h *Hub) {
		h.deny(context.Background(), testTopic, "http://example.net/in?"+testQuery, "You ask too much.")
	}
	status := func(code int) transport {
		return func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: code, Body: http.NoBody}, nil
		}
	}
	for name, tt := range map[string]struct {
		do     func(h *Hub)
		answer transport
		want   []string
	}{
		"status":    {ask, status(404), []string{`reason="status 404"`, "must answer 2xx", "challenge"}},
		"redirect":  {ask, status(302), []string{`reason="status 302, and redirects are not followed"`}},
		"body":      {ask, status(200), []string{`reason="the answer is not the challenge"`}},
		"no answer": {ask, hangs, []string{`reason="no answer in time"`}},
		"denied":    {deny, status(200), []string{`reason="You ask too much."`}},
		"untold":    {deny, func(*http.Request) (*http.Response, error) { return nil, errors.New("out of order") }, []string{`reason="You ask too much."`, `untold="out of order"`}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &lockedBuffer{}
				h, err := New(testHub, logtest.Seal(pushlog.NewMemory()), &Options{Logger: slog.New(slog.NewTextHandler(log, nil)), Timeout: time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				h.Register(testTopic)
				h.transport = tt.answer
				for range 10 {
					tt.do(h)
				}
				lines := strings.Split(strings.TrimSpace(log.String()), "\n")
				for _, want := range append(tt.want, "level=INFO", "topic="+testTopic, "callback=http://example.net/in?…") {
					if !strings.Contains(strings.ReplaceAll(lines[0], `"http://example.net/in?…"`, "http://example.net/in?…"), want) {
						t.Errorf("%s\nis without %s", lines[0], want)
					}
				}
				if len(lines) != 1 || strings.Contains(lines[0], "suppressed") {
					t.Errorf("within a second:\n%s", log)
				}
				time.Sleep(time.Second)
				tt.do(h)
				lines = strings.Split(strings.TrimSpace(log.String()), "\n")
				if len(lines) != 2 || !strings.Contains(lines[1], "suppressed=9") || strings.Contains(log.String(), testQuery) {
					t.Errorf("a second later:\n%s", log)
				}
			})
		})
	}
}

// A subscriber cannot change AllowCallbacks, so the log tells the operator.
func TestForbiddenCallbackIsLogged(t *testing.T) {
	for _, callback := range []string{"http://10.0.0.1/in?" + testQuery, "http://localhost:9000/in?" + testQuery} {
		f := idleFront(t, Options{AllowCallbacks: []netip.Prefix{}})
		for range 2 {
			if status, _ := f.post(callback); status != http.StatusForbidden {
				t.Errorf("%s: status %d", callback, status)
			}
		}
		host, _, _ := strings.Cut(callback, "?")
		log := f.log.String()
		if strings.Count(log, `level=INFO msg="hub: a callback is refused"`) != 1 || !strings.Contains(log, "AllowCallbacks") || !strings.Contains(log, host) {
			t.Errorf("%s: the log is\n%s", callback, log)
		}
		if strings.Contains(log, testQuery) {
			t.Errorf("the log gives the query away:\n%s", log)
		}
	}
}
