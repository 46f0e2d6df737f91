package publisher

import (
	"testing"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/topic"
)

// TestRS2_severalSets sends the change of a resource in two sets on both channels.
func TestRS2_severalSets(t *testing.T) {
	h, hub := hub(t, nil)
	a, b, outbox := memory.New(nil), memory.New(nil), pushlog.NewMemory()
	other := changeChannel(b, hub)
	other.Topic, other.CapabilityList = "https://museum.example.org/resourcesync/all/change/", "https://museum.example.org/resourcesync/all/capabilitylist.xml"
	run(t, outbox, []Channel{changeChannel(a, hub), other}, nil)
	begun(t, outbox, changeTopic)
	begun(t, outbox, other.Topic)
	put(t, a, 1)
	put(t, b, 1)
	got := map[string]string{}
	for _, post := range h.wait(t, 2) {
		head, entries := decode(t, post.body)
		if len(entries) != 1 || entries[0].Loc != resource(1).URI {
			t.Errorf("entries %v", entries)
		}
		got[targets(t, post.header)["self"][0]] = head.Links[0].Href
	}
	if got[changeTopic] != capabilityList || got[other.Topic] != other.CapabilityList || len(got) != 2 {
		t.Errorf("topics %v", got)
	}
}

// TestRS1_channels keeps channels apart.
func TestRS1_channels(t *testing.T) {
	set := memory.New(nil)
	good := changeChannel(set, topic.RemoteHub{URI: "https://hub.example.net/"})
	documents := &documents{}
	for what, channels := range map[string][]Channel{
		"one topic for both kinds": {good, {Topic: good.Topic, CapabilityList: capabilityList, Documents: documents}},
		"both kinds at once":       {{Topic: good.Topic, CapabilityList: capabilityList, Changer: set, Documents: documents}},
		"no kind":                  {{Topic: good.Topic, CapabilityList: capabilityList}},
		"no topic":                 {{CapabilityList: capabilityList, Changer: set}},
		"no capability list":       {{Topic: good.Topic, Changer: set}},
		"a relative hub":           {changeChannel(set, topic.RemoteHub{URI: "/websub/"})},
		"a hub by another scheme":  {changeChannel(set, topic.RemoteHub{URI: "ws://hub.example.net/"})},
		"a hub twice":              {changeChannel(set, good.Hubs[0], good.Hubs[0])},
	} {
		if _, err := New(pushlog.NewMemory(), channels, nil, nil); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	for what, o := range map[string]topic.Options{"flush": {Flush: -1}, "changes": {FlushChanges: 50_001}, "fewer": {FlushChanges: -1}, "time-out": {Timeout: -1}, "framework": {Framework: -1}} {
		if _, err := New(pushlog.NewMemory(), []Channel{good}, nil, &o); err == nil {
			t.Errorf("Options.%s: no error", what)
		}
	}
	if _, err := New(nil, []Channel{good}, nil, nil); err == nil {
		t.Error("no outbox: no error")
	}
	if _, err := New(pushlog.NewMemory(), []Channel{good}, nil, nil); err != nil {
		t.Error(err)
	}
}
