package view

import (
	"context"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/pages"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
	"github.com/resourcesync-go/resourcesync/topic"
)

// pageChannel is the page of a notification channel.
func pageChannel(ctx context.Context, v *View) (content, error) {
	channels, err := v.channels(ctx, v.t.Set)
	if err != nil {
		return content{}, err
	}
	c := resourcesync.Capability(v.t.Kind.Name)
	out := content{title: nameOf(c), intro: purposes[c]}
	for _, ch := range channels {
		if ch.Name == out.title {
			ch.Name = ""
			out.Channels = append(out.Channels, ch)
		}
	}
	out.Harvest = []pages.Step{
		subscribe(v.t.Set, c),
		{Text: "Read the latest notification", Command: "curl --compressed " + quote(v.t.URL(string(c), ""))},
	}
	return out, nil
}

// channels returns the channels of st with their public progress: errors and subscribers are
// for operators.
func (v *View) channels(ctx context.Context, st *document.Set) ([]pages.Channel, error) {
	var out []pages.Channel
	if len(st.Channels()) == 0 {
		return nil, nil
	}
	status, err := v.status(ctx)
	if err != nil {
		return nil, err
	}
	byTopic := make(map[string]*topic.TopicStatus, len(status.Topics))
	for i := range status.Topics {
		byTopic[status.Topics[i].Topic] = &status.Topics[i]
	}
	for _, c := range st.Channels() {
		ch := pages.Channel{Name: nameOf(c), URL: v.channelOrDocument(st, c), Purpose: purposes[c]}
		if st.Sockets {
			ch.WebSocket = st.SocketURL(c)
		}
		if ch.URL == "" { // WebSockets alone
			ch.URL = v.t.Set.URL(document.KindCapabilityList+document.PageOf, "")
			out = append(out, ch)
			continue
		}
		ch.Topic = st.URL(string(c), "")
		t := byTopic[sparse.RedactURI(ch.Topic)]
		if t != nil {
			ch.Published = t.Newest
		}
		if v.hub != "" {
			ch.Hubs = append(ch.Hubs, pages.Hub{URI: v.hub, Class: "ok", State: "built in"})
		}
		if t != nil {
			for i := range t.Hubs {
				ch.Hubs = append(ch.Hubs, publicHub(&t.Hubs[i]))
			}
		}
		out = append(out, ch)
	}
	return out, nil
}

// publicHub returns the status of a remote hub without confidential details.
func publicHub(h *topic.HubStatus) pages.Hub {
	out := pages.Hub{URI: h.Hub, Class: "ok", State: "up to date"}
	switch {
	case !h.FailingSince.IsZero():
		out.Class, out.State = "failing", "not reached since "+timetext.Of(h.FailingSince)
	case h.Behind > 0:
		out.Class, out.State = "updated", humanize.Comma(h.Behind)+" behind"
	}
	return out
}
