package publisher

import (
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// maxBody is the maximum size of a notification, in bytes, unless a single change is
// larger. Hubs accept that much.
const maxBody = 1 << 20

// changeHead is the head of a Change Notification (Change Notification 3).
func changeHead(capabilityList string, iv resourcesync.Interval) rsxml.Head {
	return head(resourcesync.ChangeNotification, capabilityList, iv)
}

// frameworkHead is the head of a Framework Notification (Framework Notification 3).
func frameworkHead(up string) rsxml.Head {
	return head(resourcesync.FrameworkNotification, up, resourcesync.Interval{})
}

func head(c resourcesync.Capability, up string, iv resourcesync.Interval) rsxml.Head {
	h := rsxml.Head{Metadata: rsxml.Metadata{Capability: c, From: iv.From, Until: iv.Until}}
	if up != "" {
		h.Links = []resourcesync.Link{{Rel: resourcesync.RelUp, Href: up}}
	}
	return h
}

// document returns the document of h with the encoded entries, in a new slice without spare
// capacity.
func document(h *rsxml.Head, entries []byte) []byte {
	var scratch [1024]byte
	before := rsxml.AppendHead(scratch[:0], h)
	b := make([]byte, 0, len(before)+len(entries)+len(tail))
	b = append(b, before...)
	b = append(b, entries...)
	return rsxml.AppendTail(b, h)
}

var tail = rsxml.AppendTail(nil, new(rsxml.Head))

// roomFor returns the maximum size of the entries of a Change Notification, in bytes, so
// that it does not exceed maxBody whatever the length of its times.
func roomFor(capabilityList string) int {
	longest := time.Date(2000, 1, 1, 0, 0, 0, 123456789, time.UTC)
	h := changeHead(capabilityList, resourcesync.Interval{From: longest, Until: longest})
	return maxBody - len(rsxml.AppendHead(nil, &h)) - len(tail)
}

// frameworkDocument returns the document of u, or false if it has no entry. It omits entries
// with invalid URIs.
func frameworkDocument(u *Update, left *omissions) (_ []byte, ok bool) {
	h := frameworkHead(u.Up)
	var entries []byte
	for i := range u.Entries {
		e := &u.Entries[i]
		if err := rsxml.CheckURI(e.Loc); err != nil {
			left.entries.add(1, e.Loc, err)
			continue
		}
		var dropped int
		if entries, dropped = rsxml.AppendEntry(entries, &h, e); dropped > 0 {
			left.addFields(dropped, &h, e)
		}
	}
	return document(&h, entries), len(entries) > 0
}
