package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/logtest"
	"github.com/resourcesync-go/resourcesync/internal/subscriber"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// loopback lets Destinations on this computer subscribe.
var loopback = []string{"--allow-callbacks", "127.0.0.0/8", "--hub-retry", "100ms"}

// replayed applies notifications to an empty set, and returns it as hashes by URI.
func replayed(t testing.TB, taken []*subscriber.Notification) map[string]string {
	t.Helper()
	h, err := subscriber.Replay(taken)
	must(t, err)
	files := map[string]string{}
	for uri, e := range h.Resources {
		files[uri] = fmt.Sprint(e.Metadata.Hashes)
	}
	return files
}

// awaitReplica waits until the notifications alone lead to the Resource List.
func (s *served) awaitReplica(d *subscriber.Subscriber) {
	s.t.Helper()
	var want map[string]string
	same := func(taken []*subscriber.Notification) bool {
		want = map[string]string{}
		for _, e := range s.list("resourcelist") {
			want[e.Loc] = "[" + e.Metadata.Hash + "]"
		}
		got := replayed(s.t, taken)
		if len(got) != len(want) {
			return false
		}
		for uri, hash := range want {
			if got[uri] != hash {
				return false
			}
		}
		return true
	}
	for deadline := time.Now().Add(needs.Patience); !same(d.Taken()); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("notifications have made\n%v\nwant\n%v", replayed(s.t, d.Taken()), want)
		}
	}
}

// awaitURI waits until a notification after the first n has a URI, and
// returns when it arrived.
func awaitURI(d *subscriber.Subscriber, n int, uri string) time.Time {
	var arrived time.Time
	d.Await("a notification of "+uri, time.Minute, func(taken []*subscriber.Notification) bool {
		for _, n := range taken[n:] {
			for _, e := range n.Entries {
				if e.Loc == uri {
					arrived = n.Arrived
					return true
				}
			}
		}
		return false
	})
	return arrived
}

// A subscriber gets the changes of files that are created, changed and removed. A copy
// made from the notifications alone equals the folder.
func TestPush(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	p := startProcess(t, t.TempDir(), append([]string{"--state", t.TempDir() + "/state"}, loopback...)...)
	p.stdout.await("Ready")
	capabilities := p.capabilities()
	d := subscriber.New(t, "a secret")
	d.Subscribe(p.site+"websub/", capabilities["change-notification"])

	var took []time.Duration
	for i := range 12 {
		key := fmt.Sprintf("file%02d", i%8)
		before := len(d.Taken())
		p.write(key, fmt.Sprint("content ", i))
		written := time.Now()
		took = append(took, awaitURI(d, before, p.site+key).Sub(written))
	}
	slices.Sort(took)
	t.Logf("from the change of a file to the notification: median %v, longest %v", took[len(took)/2], took[len(took)-1])
	must(t, os.Remove(p.folder+"/file03"))
	p.awaitReplica(d)

	for _, n := range d.Taken() {
		links := strings.Join(n.Header["Link"], ", ")
		for _, want := range []string{
			fmt.Sprintf(`<%s>; rel="self"`, capabilities["change-notification"]),
			fmt.Sprintf(`<%swebsub/>; rel="hub"`, p.site),
			fmt.Sprintf(`<%sresourcesync/capabilitylist.xml>; rel="resourcesync"`, p.site),
		} {
			if len(n.Header["Link"]) != 1 || !strings.Contains(links, want) {
				t.Fatalf("Link %q lacks %s", n.Header["Link"], want)
			}
		}
	}
	// The topic URI serves the newest notification.
	taken := d.Taken()
	if _, body := p.get(capabilities["change-notification"]); body != taken[len(taken)-1].Body {
		t.Errorf("at the topic URI is\n%s\nwant\n%s", body, taken[len(taken)-1].Body)
	}
	p.kill()
}

// Changes while serve is not running, and notifications that were not delivered when it
// was killed, are delivered by the next process: the intervals are contiguous.
func TestPushOverRestarts(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	folder := t.TempDir()
	flags := append([]string{"--state", t.TempDir() + "/state", "--listen", needs.Address(t)}, loopback...)
	p := startProcess(t, folder, flags...)
	p.stdout.await("Ready")
	var hold atomic.Bool
	arrived, release := make(chan bool), make(chan bool)
	d := subscriber.New(t, "")
	d.Answer = func(*subscriber.Notification) int {
		if hold.CompareAndSwap(true, false) {
			arrived <- true
			<-release
		}
		return http.StatusOK
	}
	d.Subscribe(p.site+"websub/", p.capabilities()["change-notification"])
	for i := range 3 {
		hold.Store(true)
		p.write(fmt.Sprint("file", i), "content")
		<-arrived
		p.kill() // which does not know that this is taken
		release <- true
		p.write(fmt.Sprint("meanwhile", i), "content")
		p = startProcess(t, folder, flags...)
		p.stdout.await("Ready")
	}
	p.write("file", "content")
	p.awaitReplica(d)
	p.kill()
}

// When the site moves, subscribers to the old topics are notified.
func TestMovedSite(t *testing.T) {
	t.Parallel()
	folder, state := t.TempDir(), t.TempDir()+"/state"
	flags := append([]string{"--state", state}, loopback...)
	s := startReady(t, folder, append(flags, "--base-url", "https://old.example.org/")...)
	d := subscriber.New(t, "")
	d.Subscribe(s.site+"websub/", "https://old.example.org/resourcesync/change/")
	s.stop()
	s = startReady(t, folder, append(flags, "--base-url", "https://new.example.org/")...)
	if reason := d.AwaitDenied(); !strings.Contains(reason, "moved") {
		t.Errorf("denied because %q", reason)
	}
	d.Subscribe(s.site+"websub/", "https://new.example.org/resourcesync/change/")
}

// Two processes share the work of one hub. One is killed while it delivers; the other
// delivers the rest.
func TestHubReplicas(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	flags := append([]string{"--base-url", publicURL, "--state", newPostgres(t), "--rescan", "1h"}, loopback...)
	replicas := []*process{startProcess(t, folder, flags...), startProcess(t, folder, flags...)}
	for _, p := range replicas {
		p.stdout.await("Ready")
	}
	const subscribers = 20
	topic := replicas[0].capabilities()["change-notification"]
	var (
		all    []*subscriber.Subscriber
		once   sync.Once
		killed time.Time
		dead   = make(chan struct{})
	)
	for i := range subscribers {
		d := subscriber.New(t, fmt.Sprint("secret ", i))
		d.Answer = func(n *subscriber.Notification) int {
			if strings.Contains(n.Body, "deadly") {
				once.Do(func() {
					// It is unknown which of the two will deliver, so kill the one that
					// leads the journal and has most of the work.
					replicas[0].kill()
					killed = time.Now()
					close(dead)
				})
				<-dead
			}
			return http.StatusOK
		}
		d.Subscribe(replicas[i%2].site+"websub/", topic)
		all = append(all, d)
	}
	survivor := replicas[1]
	for i := range 5 {
		survivor.write(fmt.Sprint("file", i), "content")
	}
	survivor.write("deadly", "content")
	select {
	case <-dead:
	case <-time.After(time.Minute):
		t.Fatal("nobody receives the change of the fatal file")
	}
	survivor.write("after", "content")
	for _, d := range all {
		survivor.awaitReplica(d)
	}
	var last time.Time
	for _, d := range all {
		last = slices.MaxFunc([]time.Time{last, awaitURI(d, 0, publicURL+"after")}, time.Time.Compare)
	}
	if took := last.Sub(killed); took > 5*time.Second {
		t.Errorf("everything was delivered %v after one of two was killed", took)
	} else {
		t.Logf("everything was delivered %v after one of two was killed", took.Round(time.Millisecond))
	}
	survivor.kill()
}

// A remote hub is notified with the required token.
func TestForeignHub(t *testing.T) {
	t.Parallel()
	relay := &subscriber.Relay{Log: pushlog.NewMemory(), Token: "open sesame"}
	server := httptest.NewServer(relay)
	t.Cleanup(server.Close)
	foreign, err := hub.New(server.URL+"/", logtest.Seal(relay.Log), &hub.Options{
		AllowCallbacks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Logger:         slog.New(slog.DiscardHandler),
	})
	must(t, err)
	relay.Hub = foreign
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error)
	go func() { ran <- foreign.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ran })

	s := startReady(t, t.TempDir(), "--state", t.TempDir()+"/state",
		"--hub", strings.Replace(server.URL, "://", "://:open%20sesame@", 1)+"/")
	d := subscriber.New(t, "")
	foreign.Register(s.capabilities()["change-notification"])
	d.Subscribe(server.URL+"/", s.capabilities()["change-notification"])
	s.write("file", "content")
	s.awaitReplica(d)
	if res, _ := s.get("websub/"); res.StatusCode != http.StatusNotFound {
		t.Errorf("with a hub elsewhere, its own answers %s", res.Status)
	}
	if strings.Contains(s.stderr.String(), "sesame") {
		t.Errorf("the token is in the log:\n%s", s.stderr)
	}
}

// Without hubs, no channels are advertised, and none of their paths collides with
// files.
func TestNoHub(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder+"/websub/index.html", "a page")
	s := startReady(t, folder, "--state", t.TempDir()+"/state", "--hub", "none")
	for c, loc := range s.capabilities() {
		if strings.Contains(c, "notification") {
			t.Errorf("%s is offered at %s", c, loc)
		}
	}
	if _, body := s.get("websub/index.html"); body != "a page" {
		t.Errorf("the page in websub is %q", body)
	}
}

func TestPushFlags(t *testing.T) {
	tests := []struct {
		flags string
		want  string // in the error
	}{
		{"--hub none --hub own", "contradict"},
		{"--hub nonsense", "whole address"},
		{"--hub ftp://hub.example.org/", "whole address"},
		{"--hub https://me:token@hub.example.org/", "leave out user names"},
		{"--hub https://hub.example.org/ --hub https://hub.example.org/", "twice"},
		{"--ping-hub https://:token@hub.example.org/", "leave out user names"},
		{"--hub https://:token@hub.example.org/#here", "--hub: give the whole address"},
		{"--hub none --allow-callbacks 10.0.0.0/8", "--hub own"},
		{"--allow-callbacks 10.0.0.0/99", "range of addresses"},
		{"--hub-min-lease 1500ms", "whole seconds"},
		{"--hub-retry 0s", "--hub-retry"},
		{"--hub-give-up 1s", "--hub-give-up"},
	}
	for _, tt := range tests {
		_, err := parseServe(append(strings.Fields(tt.flags), "folder"))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.flags, err, tt.want)
		}
		if strings.Contains(fmt.Sprint(err), "token@") {
			t.Errorf("the error has the token: %v", err)
		}
	}
	c, err := parseServe(strings.Fields("--hub https://:t%20k@hub.example.org/?a=b --hub own --ping-hub https://ping.example.org/ --allow-callbacks 10.1.2.3/8 --allow-callbacks ::1 folder"))
	must(t, err)
	got := fmt.Sprint(c.Push.HasOwn(), c.Push.Foreign, c.Push.Callbacks)
	want := "true [{https://hub.example.org/?a=b t k false} {https://ping.example.org/  true}] [10.0.0.0/8 ::1/128]"
	if got != want {
		t.Errorf("flags are %s, want %s", got, want)
	}
	for _, flags := range []string{"", "--ping-hub https://ping.example.org/", "--hub https://hub.example.org/", "--hub none"} {
		c, err := parseServe(append(strings.Fields(flags), "folder"))
		must(t, err)
		if c.Push.HasOwn() != (flags == "") {
			t.Errorf("%q: own hub is %t", cmp.Or(flags, "nothing"), c.Push.HasOwn())
		}
	}
}
