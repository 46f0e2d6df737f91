package rshttp_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
	"github.com/resourcesync-go/resourcesync/topic/websocket"
)

// TestStaticErrors: what needs a process cannot be static.
func TestStaticErrors(t *testing.T) {
	feed, err := websocket.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	plain := rshttp.Set{Provider: memory.New(nil)}
	withHub, withMemento := plain, plain
	withHub.RemoteHubs = []topic.RemoteHub{{URI: "https://hub.example/"}}
	withMemento.Memento = true
	for name, test := range map[string]struct {
		base string
		set  rshttp.Set
		o    *rshttp.Options
		want string
	}{
		"hub":       {"https://example.org/", plain, &rshttp.Options{Hub: &hub.Options{}}, "process"},
		"websocket": {"https://example.org/", plain, &rshttp.Options{WebSocket: feed}, "process"},
		"hubs":      {"https://example.org/", withHub, nil, "process"},
		"memento":   {"https://example.org/", withMemento, nil, "process"},
		"base":      {"example.org", plain, nil, "base URL"},
	} {
		if _, err := rshttp.NewStatic(test.base, []rshttp.Set{test.set}, test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestStaticOrder: documents come after those that they list, and an error ends the walk.
func TestStaticOrder(t *testing.T) {
	papers, maps := memory.New(nil), memory.New(nil)
	if err := papers.Put(t.Context(), resourcesync.Resource{Key: "1", URI: "https://example.org/1"}, resourcesync.Resource{Key: "2", URI: "https://example.org/2"}, resourcesync.Resource{Key: "3", URI: "https://example.org/3"}); err != nil {
		t.Fatal(err)
	}
	src, err := rshttp.NewStatic("https://example.org/a/rs/", []rshttp.Set{{Name: "papers", Provider: papers}, {Name: "maps", Provider: maps}}, &rshttp.Options{Division: rshttp.Division{PageSize: 1}})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	validators := make(map[string]bool)
	err = src.Documents(t.Context(), func(set string, c resourcesync.Capability) bool { return set == "maps" && c == resourcesync.ChangeList }, func(d *rshttp.StaticDocument) error {
		validators[d.Validator] = true
		path := d.Path
		if i := strings.Index(path, "list/"); i >= 0 {
			path = path[:i+len("list/")] + "*"
		}
		if n := len(paths); n == 0 || paths[n-1] != path {
			paths = append(paths, path)
		}
		return nil
	})
	want := "/a/rs/papers/resourcelist/* /a/rs/papers/resourcelist.xml /a/rs/papers/changelist/* /a/rs/papers/changelist.xml " +
		"/a/rs/maps/resourcelist.xml /a/rs/papers/capabilitylist.xml /a/rs/maps/capabilitylist.xml /.well-known/resourcesync"
	if got := strings.Join(paths, " "); err != nil || got != want {
		t.Errorf("got  %s\nwant %s\n%v", got, want, err)
	}
	if validators[""] {
		t.Error("a document has no validator, although its set has a version")
	}
	stop := errors.New("stop")
	if err := src.Documents(t.Context(), nil, func(*rshttp.StaticDocument) error { return stop }); err != stop {
		t.Errorf("error %v", err)
	}
	notReady := &unreadySet{papers}
	src, err = rshttp.NewStatic("https://example.org/", []rshttp.Set{{Provider: notReady, Stater: notReady}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = src.Documents(t.Context(), nil, func(d *rshttp.StaticDocument) error { return errors.New(d.Path) })
	if !errors.Is(err, resourcesync.ErrNotReady) {
		t.Errorf("error %v", err)
	}
}

type unreadySet struct{ *memory.Set }

func (unreadySet) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return resourcesync.Stat{}, resourcesync.ErrNotReady
}
