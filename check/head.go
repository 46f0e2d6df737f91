package check

import (
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/tree"
)

// checkHead checks the head against the rules that a Decoder does not know, and against the
// expectation.
func (rd *reading) checkHead() {
	d, m := rd.document, &rd.head.Metadata
	x := &rd.expect
	switch {
	case m.Capability == "":
	case d.capability != m.Capability:
		rd.add("capability-unknown", d.place, "", "the capability is %q; the specified word is %q", m.Capability, d.capability)
	case !specified(d.capability):
		rd.add("capability-unknown", d.place, "Core 6.1", "the capability is %.100q, which these specifications do not define", m.Capability)
	}
	for name, t := range map[string]time.Time{"at": m.At, "completed": m.Completed, "from": m.From, "until": m.Until} {
		rd.past(name, t, d.place)
	}
	rd.checkHeadLinks()
	plain := m.Capability == "" && len(d.head.Links) == 0 // otherwise the decoder reports that it is missing
	switch {
	case x.capability == "" || x.capability == d.capability:
	case plain:
		rd.add("capability-missing", d.place, "Core 7", "the document has no capability; it should have %q", x.capability)
	case d.capability != "":
		rd.add("part-capability", d.place, "", "the capability is %q, but the entry that leads here states %q", d.capability, x.capability)
	}
	if d.capability == "" {
		d.capability = x.capability // so that the documents below are found
	}
	if x.nested && d.head.Index {
		rd.add("index-nested", d.place, "", "the index %s lists this index", x.at.document)
	}
	rd.checkInterval()
}

// specified reports whether the specifications define a capability.
func specified(c resourcesync.Capability) bool {
	return section(c, false) != "Core 7" || strings.HasSuffix(string(c), "-archive")
}

// past reports a time in the future.
func (rd *reading) past(name string, t time.Time, at place) {
	if t.After(rd.now.Add(clockSkew)) {
		rd.add("time-future", at, "", "%s is %s, which is in the future", name, t.Format(time.RFC3339))
	}
}

// checkInterval compares the times of the document with the times of the entry that leads to it.
func (rd *reading) checkInterval() {
	has, said := &rd.head.Metadata, &rd.expect.metadata
	for _, t := range []struct {
		name      string
		has, said time.Time
	}{{"from", has.From, said.From}, {"until", has.Until, said.Until}} {
		switch {
		case t.said.IsZero() || t.has.Equal(t.said):
		case t.has.IsZero():
			rd.add("part-interval", rd.expect.at, "", "the entry has %s, but %s has none", t.name, rd.name)
		default:
			rd.add("part-interval", rd.expect.at, "", "the entry has %s %s, but %s has %s", t.name, t.said.Format(time.RFC3339Nano), rd.name, t.has.Format(time.RFC3339Nano))
		}
	}
	// A list may have been closed since.
	if said.Until.IsZero() && !said.From.IsZero() && !has.Until.IsZero() && has.Until.Before(rd.expect.read) {
		rd.add("part-interval", rd.expect.at, "", "the entry has no until, but %s is closed", rd.name)
	}
}

// up are the capabilities of documents that must link to the one above them.
var up = map[resourcesync.Capability]bool{
	resourcesync.CapabilityList: true, resourcesync.ResourceList: true, resourcesync.ResourceDump: true,
	resourcesync.ResourceDumpManifest: true, resourcesync.ChangeList: true, resourcesync.ChangeDump: true,
	resourcesync.ChangeDumpManifest: true,
}

// checkHeadLinks checks the links of the head.
func (rd *reading) checkHeadLinks() {
	d, x := rd.document, &rd.expect
	var hasUp, hasIndex bool
	for i := range d.head.Links {
		l := &d.head.Links[i]
		rd.relation(l, d.place)
		target, _ := tree.Resolve(rd.base, l.Href)
		switch l.Rel {
		case resourcesync.RelUp:
			hasUp = true
			if x.up != "" && target != x.up {
				rd.add("link-up-wrong", d.place, "", "the link leads to %s, but %s lists this document", l.Href, x.up)
			}
		case resourcesync.RelIndex:
			hasIndex = true
			if x.index != "" && target != x.index {
				rd.add("link-index-wrong", d.place, "", "the link leads to %s, but the index %s lists this document", l.Href, x.index)
			}
		}
	}
	var err error
	if d.next, err = tree.Next(d.head.Links, rd.base); err != nil {
		rd.add("list-paging", d.place, "", "%v", err)
	}
	d.elsewhere = d.next != "" && !tree.Continues(rd.base, d.next)
	if !hasUp && up[d.capability] {
		rd.add("link-up-missing", d.place, d.section(), "the head has no link with the relation up")
	}
	if !hasIndex && x.index != "" && d.capability != "" {
		section := "Core 6.2"
		if list := d.section(); hasSentence("link-index-missing", list) {
			section = list
		}
		rd.add("link-index-missing", d.place, section, "the head has no link with the relation index, although %s lists this document", x.index)
	}
}
