package rshttp_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
)

// TestD2_RemovedSet: the last notification on the framework channel of a set that has
// been removed says, once, that its Capability List is deleted. If the set comes back,
// it is announced again.
func TestD2_RemovedSet(t *testing.T) {
	t.Parallel()
	h := newHubServer(t)
	hubs := []topic.RemoteHub{{URI: h.uri}}
	set := func(name string) rshttp.Set {
		return rshttp.Set{Name: name, Provider: memory.New(nil), RemoteHubs: hubs}
	}
	a, b := set("a"), set("b")
	outbox := pushlog.NewMemory()
	_, stop := pushed(t, rshttp.Options{Store: storeOf(outbox)}, a, b)
	begun(t, h, "a/")
	begun(t, h, "b/")
	stop()
	const gone = "deleted resourcesync/b/capabilitylist.xml"
	for range 2 { // the second time it is known
		var src *rshttp.Source
		src, stop = pushed(t, rshttp.Options{Store: storeOf(outbox)}, a)
		until(t, "the end of b", func() bool { return slices.Contains(h.told("/b/framework/"), gone) })
		until(t, "that is known", func() bool {
			state, err := outbox.State(t.Context(), pushBase+"b/framework/")
			cursor, failed := outbox.HubCursor(t.Context(), pushBase+"b/framework/", h.uri)
			return err == nil && failed == nil && cursor.Taken == state.Number
		})
		// A hub may verify the topic, by any process.
		replica := newSource(t, &rshttp.Options{Store: storeOf(outbox)}, a)
		on := h.on("/b/framework/")
		for _, s := range []*rshttp.Source{src, replica} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				res := do(t, s, method, "/resourcesync/b/framework/")
				if l := links(t, res.Header); res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/xml" ||
					!slices.Equal(l["self"], []string{pushBase + "b/framework/"}) || !slices.Equal(l["hub"], []string{h.uri}) ||
					method == http.MethodGet && text(t, res) != on[len(on)-1].body {
					t.Errorf("%s of the topic: %s %v", method, res.Status, res.Header)
				}
			}
			for _, path := range []string{"b/change/", "b/framework", "c/framework/", "b/capabilitylist.xml"} {
				if res := get(t, s, "/resourcesync/"+path); res.StatusCode != 404 {
					t.Errorf("%s: %s", path, res.Status)
				}
			}
		}
		stop()
	}
	const described = "updated .well-known/resourcesync"
	if told := h.told("/b/framework/"); !slices.Equal(told[len(told)-2:], []string{described, gone}) {
		t.Errorf("b: %q", told)
	}
	if told := h.told("/a/framework/"); told[len(told)-1] != described {
		t.Errorf("a: %q", told)
	}
	on := h.on("/b/framework/")
	last := on[len(on)-1]
	e := last.entries[0]
	if linked(last.head.Links, resourcesync.RelUp) != "https://example.org/.well-known/resourcesync" || len(last.entries) != 1 ||
		e.Metadata.Capability != resourcesync.CapabilityList || e.Metadata.Datetime.IsZero() || e.Metadata.Datetime.After(time.Now()) ||
		!slices.Equal(links(t, last.header)["resourcesync"], []string{pushBase + "b/capabilitylist.xml"}) {
		t.Errorf("%v %s", last.header, last.body)
	}
	for channel, want := range map[string]int{"/b/framework/": 1, "/b/change/": 0, "/a/framework/": 0} {
		n := 0
		for _, told := range h.told(channel) {
			if strings.HasPrefix(told, "deleted") {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: %q", channel, h.told(channel))
		}
	}
	before := len(h.told("/b/framework/"))
	pushed(t, rshttp.Options{Store: storeOf(outbox)}, a, b)
	until(t, "b again", func() bool { return len(h.told("/b/framework/")) >= before+3 })
	if again := h.told("/b/framework/")[before:]; !slices.Equal(again[:3], []string{described, "created resourcesync/b/capabilitylist.xml", "created resourcesync/b/resourcelist.xml"}) {
		t.Errorf("b again: %q", again)
	}
}

// A new set's channel says that the Source Description was updated, because it existed.
func TestD2_NewSet(t *testing.T) {
	h := newHubServer(t)
	hubs := []topic.RemoteHub{{URI: h.uri}}
	set := func(name string) rshttp.Set {
		return rshttp.Set{Name: name, Provider: memory.New(nil), RemoteHubs: hubs}
	}
	a, b := set("a"), set("b")
	outbox := pushlog.NewMemory()
	_, stop := pushed(t, rshttp.Options{Store: storeOf(outbox)}, a)
	begun(t, h, "a/")
	stop()
	pushed(t, rshttp.Options{Store: storeOf(outbox)}, a, b)
	begun(t, h, "b/")
	until(t, "the Source Description on the other channel", func() bool { return slices.Contains(h.told("/a/framework/"), "updated .well-known/resourcesync") })
	if told := h.told("/a/framework/"); told[0] != "created .well-known/resourcesync" {
		t.Errorf("a: %q", told)
	}
	if told := h.told("/b/framework/"); told[0] != "updated .well-known/resourcesync" || told[1] != "created resourcesync/b/capabilitylist.xml" {
		t.Errorf("b: %q", told)
	}
}

// TestD2_RemovedLastSetWithHubs: the removal of a set is announced, once, to hubs that
// no other set has, even if no other set has any.
func TestD2_RemovedLastSetWithHubs(t *testing.T) {
	h := newHubServer(t)
	a := rshttp.Set{Name: "a", Provider: memory.New(nil)}
	b := rshttp.Set{Name: "b", Provider: memory.New(nil), RemoteHubs: []topic.RemoteHub{{URI: h.uri}}}
	outbox := pushlog.NewMemory()
	_, stop := pushed(t, rshttp.Options{Store: storeOf(outbox)}, a, b)
	begun(t, h, "b/")
	stop()
	for range 2 {
		_, stop = pushed(t, rshttp.Options{Store: storeOf(outbox)}, a)
		until(t, "the end of b", func() bool {
			return slices.Contains(h.told("/b/framework/"), "deleted resourcesync/b/capabilitylist.xml")
		})
		stop()
	}
	ends := make(map[string]bool) // a hub can get a notification again after a stop
	for _, p := range h.on("") {
		if strings.Contains(p.body, `change="deleted"`) {
			ends[p.body] = true
		}
	}
	if len(ends) != 1 {
		t.Errorf("%d notifications of the end", len(ends))
	}
}

// TestD2_MovedSetIsNotDeleted: no set is announced as deleted that has only lost its
// hubs, whose Source has another base URL, or that this process does not know yet.
func TestD2_MovedSetIsNotDeleted(t *testing.T) {
	h := newHubServer(t)
	hubs := []topic.RemoteHub{{URI: h.uri}}
	set := func(name string, hubs []topic.RemoteHub) rshttp.Set {
		return rshttp.Set{Name: name, Provider: memory.New(nil), RemoteHubs: hubs}
	}
	a, b := set("a", hubs), set("b", hubs)
	outbox := pushlog.NewMemory()
	push := topic.Options{Flush: 20 * time.Millisecond, Framework: 20 * time.Millisecond}
	old := newSource(t, &rshttp.Options{Store: storeOf(outbox), Push: push}, a) // a replica that does not know b
	_, stop := pushed(t, rshttp.Options{Store: storeOf(outbox)}, a, b)
	begun(t, h, "a/")
	begun(t, h, "b/")
	stop()
	stop = running(t, old)
	putOne(t, a.Provider.(*memory.Set), "1")
	until(t, "a change by the old replica", func() bool { return len(h.on("/a/change/")) >= 1 })
	stop()
	_, stop = pushed(t, rshttp.Options{Store: storeOf(outbox)}, a, set("b", nil))
	putOne(t, a.Provider.(*memory.Set), "2")
	until(t, "a change without hubs of b", func() bool { return slices.Contains(h.told("/a/change/"), "created papers/2") })
	stop()
	elsewhere, err := rshttp.New("https://example.org/elsewhere/", []rshttp.Set{a}, &rshttp.Options{Store: storeOf(outbox), Push: push, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	stop = running(t, elsewhere)
	until(t, "the Source elsewhere", func() bool {
		return slices.ContainsFunc(h.on(""), func(p post) bool { return strings.Contains(p.self, "/elsewhere/a/framework/") })
	})
	stop()
	for _, p := range h.on("/framework/") {
		if slices.ContainsFunc(p.entries, func(e rsxml.Entry) bool { return e.Metadata.Change == resourcesync.Deleted }) {
			t.Errorf("%s: %s", p.self, p.body)
		}
	}
}

// TestD2_FreshStart: for a set that has many pages and packages from the start, the
// first notifications name one list of each capability, with a link to its index, and
// never an index.
func TestD2_FreshStart(t *testing.T) {
	t.Parallel()
	h := newHubServer(t)
	s := shelfOf(t, 95, 100)
	pushed(t, rshttp.Options{Division: rshttp.Division{PageSize: 10, PackageSize: 100}}, rshttp.Set{Provider: history{s}, RemoteHubs: []topic.RemoteHub{{URI: h.uri}}})
	all := []resourcesync.Capability{resourcesync.ResourceList, resourcesync.ResourceDump, resourcesync.ChangeList, resourcesync.ChangeDump}
	named := map[resourcesync.Capability]rsxml.Entry{}
	until(t, "the first notifications", func() bool {
		for _, p := range h.on("/framework/") {
			for _, e := range p.entries {
				if e.Metadata.Change == resourcesync.Created {
					named[e.Metadata.Capability] = e
				}
			}
		}
		return !slices.ContainsFunc(all, func(c resourcesync.Capability) bool { return named[c].Loc == "" })
	})
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 10, PackageSize: 100}}, rshttp.Set{Provider: history{s}})
	for _, c := range all {
		e := named[c]
		index := pushBase + string(c) + ".xml"
		if head, _ := decode(t, src, pathOf(e)); head.Index || head.Metadata.Capability != c || e.Metadata.Change != resourcesync.Created || linked(e.Links, resourcesync.RelIndex) != index {
			t.Errorf("%s: %+v, index %v", c, e, head.Index)
		}
	}
	created := 0
	for _, p := range h.on("/framework/") {
		for _, e := range p.entries {
			switch {
			case e.Metadata.Change == resourcesync.Created:
				created++
			case e.Loc != named[resourcesync.ChangeDump].Loc: // Run closes the newest package, sooner or later
				t.Errorf("%s %s", e.Metadata.Change, e.Loc)
			}
		}
	}
	if created != 2+len(all) {
		t.Errorf("%d entries: %q", created, h.told("/framework/"))
	}
}
