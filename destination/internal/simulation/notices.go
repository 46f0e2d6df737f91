package simulation

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// The paths of the topics and of the hub.
const (
	changesTopic   = "changes"
	frameworkTopic = "framework"
	hubPath        = "hub"
)

// note sends the notification of an entry of the log. All channels get the notification of a change of the Source
// Description (Framework Notification, section 2).
func (h *hub) note(e *entry) {
	f := &foreign{h.World}
	h.mu.Lock()
	var notices [][2]string // topics and bodies
	for set := range h.sets() {
		place := h.place(set, len(h.log))
		if place < 0 || set != e.set && !e.isOfDescription() {
			continue
		}
		base := fmt.Sprintf("%sset%d/", Site, place)
		topic, body := frameworkTopic, ""
		if e.name != "" {
			topic, body = changesTopic, f.changeNotice(base, e)
		} else {
			body = f.frameworkNotice(base, e)
		}
		notices = append(notices, [2]string{h.present(base + topic), h.present(body)})
	}
	h.mu.Unlock()
	for _, n := range notices {
		h.send(n[0], n[1])
	}
}

// isOfDescription reports whether an event changes the Source Description.
func (e *entry) isOfDescription() bool {
	return e.verb == "appear" || e.verb == "vanish" || e.verb == "move"
}

// changeNotice returns the Change Notification of a change. It continues the previous
// one.
func (f *foreign) changeNotice(base string, e *entry) string {
	l := changeList{from: f.w.began.Add(f.w.Skew), until: e.at, closed: true, changes: []entry{*e}}
	for _, before := range f.w.log {
		if before.set == e.set && before.name != "" && before.n == e.n && before.name == e.name && before.verb == e.verb {
			break
		}
		if before.set == e.set && before.name != "" {
			l.from = before.at
		}
	}
	return f.changes(upLink(base), "change-notification", &l)
}

// frameworkNotice returns the Framework Notification of an event that changes documents.
func (f *foreign) frameworkNotice(base string, e *entry) string {
	document, capability := base+"resourcelist.xml", "resourcelist"
	switch {
	case e.verb == "close":
		document, capability = base+"changelist.xml", "changelist"
	case e.isOfDescription():
		document, capability = Site+".well-known/resourcesync", "description"
	}
	return fmt.Sprintf(head+`%s<rs:md capability="framework-notification"/>
<url><loc>%s</loc><rs:md capability="%s" change="updated"/></url>
</urlset>
`, "urlset", upLink(base), document, capability)
}

// forgery returns a Change Notification that the Source has never sent.
func (f *foreign) forgery() string {
	l := changeList{from: f.w.began, until: f.w.now(), closed: true}
	for _, r := range f.w.truth {
		l.changes = append(l.changes, entry{verb: "deleted", version: r.version})
	}
	l.changes = append(l.changes, entry{verb: "created", version: version{name: "forged", size: 30}})
	for i := range l.changes {
		l.changes[i].at = f.w.now()
	}
	return f.changes("", "change-notification", &l)
}

func upLink(base string) string {
	return fmt.Sprintf(`<rs:ln rel="up" href="%scapabilitylist.xml"/>`, base)
}

// channels returns the entries of the channels in a Capability List.
func (f *foreign) channels(base string) string {
	if !f.w.Hub {
		return ""
	}
	const channel = `<url><loc>%s%s</loc><rs:md capability="%s"/><rs:ln rel="hub" href="%s%s"/></url>` + "\n"
	return fmt.Sprintf(channel, base, changesTopic, "change-notification", Site, hubPath) +
		fmt.Sprintf(channel, base, frameworkTopic, "framework-notification", Site, hubPath)
}

// serveTopic answers a request for a topic with the links of WebSub (section 4).
func (f *foreign) serveTopic(rw http.ResponseWriter, r *http.Request) {
	site := f.w.url()
	rw.Header().Add("Link", fmt.Sprintf(`<%s%s>; rel="hub", <%s%s>; rel="self"`, site, hubPath, site, strings.TrimPrefix(r.URL.Path, "/")))
	serve(rw, r, []byte("A topic."), "none", time.Time{})
}
