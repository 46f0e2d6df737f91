package rshttp_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic"
)

// TestRS14_RS16_RS17_FrameworkNotifications: the notifications of a set with many
// changes conform to the specification.
func TestRS14_RS16_RS17_FrameworkNotifications(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	check := func([]byte, bool) {}
	if shared := os.Getenv("RESOURCESYNC_SHARED"); shared != "" {
		check = validate(t, filepath.Join(shared, "schema"))
	}
	h := newHubServer(t)
	s := newShelf(t)
	o := rshttp.Options{Division: rshttp.Division{PageSize: 3, PackageSize: 500}}
	_, stop := pushed(t, o, rshttp.Set{Provider: history{s}, RemoteHubs: []topic.RemoteHub{{URI: h.uri}}})
	begun(t, h, "")
	for i := range 7 {
		before := len(h.on("/framework/"))
		for j := range 4 {
			s.put(fmt.Sprint(i+7*j), noise(uint32(i), 100))
		}
		until(t, "a Framework Notification", func() bool { return len(h.on("/framework/")) > before })
	}
	stop()
	allowed := map[resourcesync.Capability][]resourcesync.ChangeType{ // RS15
		resourcesync.ResourceList:   {resourcesync.Created, resourcesync.Updated},
		resourcesync.ResourceDump:   {resourcesync.Created},
		resourcesync.ChangeList:     {resourcesync.Created, resourcesync.Updated},
		resourcesync.ChangeDump:     {resourcesync.Created, resourcesync.Updated},
		resourcesync.CapabilityList: {resourcesync.Created, resourcesync.Updated, resourcesync.Deleted},
		resourcesync.Description:    {resourcesync.Created, resourcesync.Updated, resourcesync.Deleted},
	}
	told := map[string]bool{}
	for _, p := range h.on("/framework/") {
		check([]byte(p.body), false)
		if p.head.Metadata.Capability != resourcesync.FrameworkNotification || p.head.Index || len(p.entries) == 0 {
			t.Errorf("%+v", p.head)
		}
		for _, e := range p.entries {
			c := e.Metadata.Capability
			told[string(c)+" "+string(e.Metadata.Change)] = true
			if !slices.Contains(allowed[c], e.Metadata.Change) {
				t.Errorf("RS15: %s %s", c, e.Metadata.Change)
			}
			if e.Metadata.Datetime.IsZero() || e.Metadata.Datetime.After(time.Now()) {
				t.Errorf("RS14: %s: datetime %v", e.Loc, e.Metadata.Datetime)
			}
			up := pushBase + "capabilitylist.xml" // RS17
			switch c {
			case resourcesync.CapabilityList:
				up = "https://example.org/.well-known/resourcesync"
			case resourcesync.Description:
				up = ""
			}
			if got := linked(p.head.Links, resourcesync.RelUp); got != up {
				t.Errorf("RS17: %s has up %q", e.Loc, got)
			}
			index := linked(e.Links, resourcesync.RelIndex) // RS16
			if part := strings.Contains(strings.TrimPrefix(e.Loc, pushBase), "/"); c != resourcesync.Description && part != (index == pushBase+string(c)+".xml") {
				t.Errorf("RS16: %s has index %q", e.Loc, index)
			}
		}
	}
	for _, c := range []string{"resourcelist created", "resourcelist updated", "resourcedump created", "changelist created", "changelist updated", "changedump created", "changedump updated", "capabilitylist created", "description created"} {
		if !told[c] {
			t.Errorf("never told: %s", c)
		}
	}
}

// TestRS15_TableOfChanges: through the life of a Source, each change of table 2 is announced, and
// no other. No Source announces the deletion of its Source Description, because it has ended by
// then.
func TestRS15_TableOfChanges(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	h := newHubServer(t)
	hubs := []topic.RemoteHub{{URI: h.uri}}
	s := newShelf(t)
	s.put("0", noise(1, 100))
	a, b := rshttp.Set{Name: "a", Provider: history{s}, RemoteHubs: hubs}, rshttp.Set{Name: "b", Provider: memory.New(nil), RemoteHubs: hubs}
	o := rshttp.Options{Store: storeOf(pushlog.NewMemory()), Division: rshttp.Division{PageSize: 3, PackageSize: 500}}
	changes := func() map[string]bool {
		all := make(map[string]bool)
		for _, p := range h.on("/framework/") {
			for _, e := range p.entries {
				all[string(e.Metadata.Capability)+" "+string(e.Metadata.Change)] = true
			}
		}
		return all
	}
	_, stop := pushed(t, o, a, b)
	begun(t, h, "a/")
	begun(t, h, "b/")
	for i := range 7 {
		before := len(h.on("/a/framework/"))
		for j := range 4 {
			s.put(fmt.Sprint(i+7*j), noise(uint32(i), 100))
		}
		until(t, "a Framework Notification", func() bool { return len(h.on("/a/framework/")) > before })
	}
	stop()
	a.DescribedBy = "https://example.org/about"
	_, stop = pushed(t, o, a)
	want := map[string]bool{
		"resourcelist created": true, "resourcelist updated": true,
		"resourcedump created": true,
		"changelist created":   true, "changelist updated": true,
		"changedump created": true, "changedump updated": true,
		"capabilitylist created": true, "capabilitylist updated": true, "capabilitylist deleted": true,
		"description created": true, "description updated": true,
	}
	until(t, "all changes", func() bool { return len(changes()) >= len(want) })
	stop()
	if got := changes(); !maps.Equal(got, want) {
		t.Errorf("announced: %q", slices.Sorted(maps.Keys(got)))
	}
}
