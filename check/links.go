package check

import (
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// relation checks the relation of a link (section 7).
func (rd *reading) relation(l *resourcesync.Link, at place) {
	if !registered[strings.ToLower(l.Rel)] && rsxml.CheckURI(l.Rel) != nil {
		rd.add("relation-unregistered", at, "", "the relation is %.100q", l.Rel)
	}
}

// checkLinks checks the links of an entry (section 14).
func (r *entryRules) checkLinks(links []resourcesync.Link, at place) {
	for i := range links {
		l := &links[i]
		r.relation(l, at)
		switch l.Rel {
		case resourcesync.RelPatch:
			r.checkPatch(l, at)
		case resourcesync.RelTimeGate:
			if _, known := l.Length.Bytes(); known || l.Encoding != "" || len(l.Hashes) > 0 || !l.Modified.IsZero() || l.Path != "" || l.Pri != 0 || l.Type != "" {
				r.add("timegate-attributes", at, "", "the link to the TimeGate %s has other attributes than rel and href", l.Href)
			}
		}
	}
}

// checkPatch checks a link to the description of a change (section 14.4).
func (r *entryRules) checkPatch(l *resourcesync.Link, at place) {
	switch r.capability {
	case resourcesync.ChangeList, resourcesync.ChangeDump, resourcesync.ChangeNotification, "":
	case resourcesync.ChangeDumpManifest:
		if l.Path == "" {
			r.add("patch-path-missing", at, "", "the link to %s has no path", l.Href)
		}
	default:
		r.add("patch-misplaced", at, "", "an entry of a %s document links to the patch %s", r.capability, l.Href)
	}
	if l.Type == "" {
		r.add("patch-type-missing", at, "", "the link to %s has no type", l.Href)
	}
}

// notified are the changes that a Framework Notification can report, beside the deletion of
// Capability Lists and Source Descriptions (Framework Notification, table 2).
var notified = map[resourcesync.Capability][]resourcesync.ChangeType{
	resourcesync.ResourceList: {resourcesync.Created, resourcesync.Updated},
	resourcesync.ResourceDump: {resourcesync.Created},
	resourcesync.ChangeList:   {resourcesync.Created, resourcesync.Updated},
	resourcesync.ChangeDump:   {resourcesync.Created, resourcesync.Updated},
}
