package publisher

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// TestExcerpt shows operators the response of a hub, unless it could reveal a query or
// a secret, or is not a line of text.
func TestExcerpt(t *testing.T) {
	for answer, want := range map[string]string{
		"This topic is unknown here.":                   ": This topic is unknown here.",
		"  Two lines,\r\nof which the first is enough.": ": Two lines,",
		"No such topic: https://example.org/t?key=abc":  "",
		"user@example.org must confirm":                 "",
		"the token sesame is wrong":                     "",
		"a bell\a":                                      "",
		"\xff\xfe":                                      "",
		"":                                              "",
		strings.Repeat("x", 201):                        "",
		"Zu viele Anfragen für dieses Thema – bitte warten": ": Zu viele Anfragen für dieses Thema – bitte warten",
	} {
		if got := excerpt("text/plain; charset=utf-8", []byte(answer), "sesame"); got != want {
			t.Errorf("%q: %q, want %q", answer, got, want)
		}
	}
	if got := excerpt("text/html", []byte("Hello"), ""); got != "" {
		t.Errorf("HTML: %q", got)
	}
}

// TestToken sends the token to its hub only.
func TestToken(t *testing.T) {
	h, with := hub(t, func(w http.ResponseWriter, _ int) { http.Error(w, "sesame is not enough", http.StatusForbidden) })
	with.Token = "sesame"
	without := with
	without.Token = ""
	p, err := New(pushlog.NewMemory(), []Channel{changeChannel(memory.New(nil), with)}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := pushlog.Notification{Topic: changeTopic, CapabilityList: capabilityList}
	if failed := p.send(context.Background(), &with, &n); failed == nil || strings.Contains(failed.reason, "sesame") {
		t.Errorf("%+v", failed)
	}
	if failed := p.send(context.Background(), &without, &n); failed == nil {
		t.Error("no error")
	}
	_, lost := hub(t, func(w http.ResponseWriter, _ int) {
		w.Header().Set("Location", "https://hub.example.net/%zz?token=sesame")
		w.WriteHeader(http.StatusFound)
	})
	if failed := p.send(context.Background(), &lost, &n); failed == nil || strings.Contains(failed.reason, "sesame") {
		t.Errorf("%+v", failed)
	}
	posts := h.all()
	if got := posts[0].header["User-Agent"]; len(got) != 1 || got[0] != "resourcesync" {
		t.Errorf("User-Agent %q", got)
	}
	if posts[0].header.Get("Authorization") != "Bearer sesame" || posts[1].header["Authorization"] != nil {
		t.Errorf("%v\n%v", posts[0].header, posts[1].header)
	}
}
