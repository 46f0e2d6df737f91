package hub

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/linkheader"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
)

// messageTime is how long a notification from outside may take to arrive.
const messageTime = time.Minute

// takeNotification takes the notification in r, from a publisher outside.
func (h *Hub) takeNotification(w http.ResponseWriter, r *http.Request) error {
	if err := h.authorize(r); err != nil {
		if h.options.Token != "" {
			w.Header().Set("WWW-Authenticate", `Bearer realm="hub"`)
		}
		return err
	}
	n, err := h.readLinks(r.Header.Values("Link"))
	if err != nil {
		return err
	}
	if n.Body, err = readBody(w, r, MaxMessage, messageTime); err != nil {
		return err
	}
	if err := checkDocument(n.Body); err != nil {
		return err
	}
	err = h.Submit(r.Context(), n)
	var refused *topic.RefusedError
	if errors.As(err, &refused) {
		return refuse(http.StatusBadRequest, "Refused: %s.", refused.Reason)
	}
	return err
}

// authorize lets only those publish who have the token.
func (h *Hub) authorize(r *http.Request) error {
	if h.options.Token == "" {
		return refuse(http.StatusForbidden, "This hub takes notifications only from its own Source.")
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given, right := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(h.options.Token))
	if subtle.ConstantTimeCompare(given[:], right[:]) != 1 || !strings.EqualFold(scheme, "Bearer") {
		return refuse(http.StatusUnauthorized, "Publishing needs the hub's token, as Authorization: Bearer.")
	}
	return nil
}

// readLinks returns the notification that a Link header announces (Change
// Notification 1.0.1, section 4.1), without its body.
func (h *Hub) readLinks(header []string) (n topic.Notification, err error) {
	links := linkheader.Parse(header...)
	self := slices.Collect(linkheader.Find(links, "self"))
	if len(self) != 1 || !h.serves(self[0].Target) {
		return n, refuse(http.StatusForbidden, "Send a Link header with one link of relation type self: a topic that this hub serves.")
	}
	n.Topic = self[0].Target
	isHub := func(l linkheader.Link) bool { return l.Target == h.uri }
	if !slices.ContainsFunc(slices.Collect(linkheader.Find(links, "hub")), isHub) {
		return n, refuse(http.StatusBadRequest, "Send a Link header with a link of relation type hub: %s.", h.uri)
	}
	lists := slices.Collect(linkheader.Find(links, "resourcesync"))
	switch {
	case len(lists) > 1:
		return n, refuse(http.StatusBadRequest, "Send one link of relation type resourcesync, to the Capability List of the set.")
	case len(lists) == 1:
		n.CapabilityList = lists[0].Target
		if err := rsxml.CheckURI(n.CapabilityList); err != nil {
			return n, refuse(http.StatusBadRequest, "The link of relation type resourcesync must have an absolute URI.")
		}
	}
	return n, nil
}

// checkDocument holds a body to what it must be: a Change Notification or a
// Framework Notification, without a fault (section 3 of either).
func checkDocument(body []byte) error {
	d := rsxml.NewDecoder(bytes.NewReader(body), nil)
	head, err := d.Head()
	if err == nil {
		switch c := head.Metadata.Capability; {
		case c != resourcesync.ChangeNotification && c != resourcesync.FrameworkNotification:
			return refuse(http.StatusBadRequest, "The document is no change-notification or framework-notification.")
		case head.Index:
			return refuse(http.StatusBadRequest, "A notification is a urlset, never a sitemapindex: split it.")
		}
	}
	for _, err = range d.Entries() {
		if err != nil {
			break
		}
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "The document breaks a rule: %v.", err)
	}
	return nil
}
