package rsxml

import (
	"math/bits"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// An attrSet is a set of the attributes of rs:md.
type attrSet uint16

const (
	at attrSet = 1 << iota
	capability
	change
	completed
	datetime
	encoding
	from
	hash
	length
	path
	mediaType
	until
)

var attrNames = [...]string{
	"at", "capability", "change", "completed", "datetime", "encoding",
	"from", "hash", "length", "path", "type", "until",
}

// first returns the name of the first attribute in s, which must have one.
func (s attrSet) first() string { return attrNames[bits.TrailingZeros16(uint16(s))] }

const (
	snapshot = at | completed
	interval = from | until

	// ofDocuments are the attributes that the rs:md of some document may have,
	// and ofResources those that the rs:md of any entry may have (section 7,
	// table 3).
	ofDocuments = capability | snapshot | interval
	ofResources = capability | encoding | hash | length | mediaType
)

// rules are the specification's rules for the documents of one capability.
type rules struct {
	section string // of the specification

	// The allowed and mandatory attributes of the document's rs:md, beside
	// capability.
	may, must attrSet

	// The allowed and mandatory attributes of the rs:md of entries, beside
	// ofResources. All in entryMust are in entryMay or ofResources.
	entryMay, entryMust attrSet

	// inOrder is the attribute that orders the entries; 0 if none does.
	inOrder attrSet
}

// A docType selects the rules of a document.
type docType struct {
	capability resourcesync.Capability
	index      bool
}

// allRules has the rules of each document of the core specification (sections 8 to 13,
// and Appendix A for at and from), the notification specifications and Archives. A
// capability without a row for its index has no index; an unknown capability has no
// rules. The head of an archive needs no time, because its entries have the times of
// the documents that they lead to.
var allRules = map[docType]*rules{
	// section, may, must, entryMay, entryMust, inOrder
	{resourcesync.Description, false}: {"Core 8", 0, 0, 0, 0, 0},
	{resourcesync.Description, true}:  {"Core 8", 0, 0, 0, 0, 0},

	{resourcesync.CapabilityList, false}: {"Core 9", 0, 0, 0, capability, 0},

	{resourcesync.ResourceList, false}: {"Core 10.1", snapshot, at, 0, 0, 0},
	{resourcesync.ResourceList, true}:  {"Core 10.2", snapshot, at, snapshot, 0, 0},

	{resourcesync.ResourceDump, false}: {"Core 11.1", snapshot, at, snapshot, 0, 0},
	{resourcesync.ResourceDump, true}:  {"Core 11.1", snapshot, at, snapshot, 0, 0},

	{resourcesync.ResourceDumpManifest, false}: {"Core 11.2", snapshot, at, path, path, 0},

	{resourcesync.ChangeList, false}: {"Core 12.1", interval, from, change | datetime, change, datetime},
	{resourcesync.ChangeList, true}:  {"Core 12.2", interval, from, interval, 0, from},

	{resourcesync.ChangeDump, false}: {"Core 13.1", interval, from, interval, 0, 0},
	{resourcesync.ChangeDump, true}:  {"Core 13.1", interval, from, interval, 0, 0},

	{resourcesync.ChangeDumpManifest, false}: {"Core 13.2", interval, from, change | datetime | path, change | path, datetime},

	{resourcesync.ChangeNotification, false}: {"Change Notification 3", interval, interval, change | datetime, change, datetime},

	{resourcesync.FrameworkNotification, false}: {"Framework Notification 3", interval, 0, change | datetime, change | capability, 0},

	{resourcesync.ResourceListArchive, false}: {"Archives 3", snapshot, 0, snapshot, at, at},
	{resourcesync.ResourceListArchive, true}:  {"Archives 3", snapshot, 0, snapshot, 0, at},
	{resourcesync.ResourceDumpArchive, false}: {"Archives 4", snapshot, 0, snapshot, at, at},
	{resourcesync.ResourceDumpArchive, true}:  {"Archives 4", snapshot, 0, snapshot, 0, at},
	{resourcesync.ChangeListArchive, false}:   {"Archives 5", interval, 0, interval, interval, from},
	{resourcesync.ChangeListArchive, true}:    {"Archives 5", interval, 0, interval, 0, from},
	{resourcesync.ChangeDumpArchive, false}:   {"Archives 6", interval, 0, interval, interval, from},
	{resourcesync.ChangeDumpArchive, true}:    {"Archives 6", interval, 0, interval, 0, from},
}

// checkHead checks the head against section 7, finds the rules of its capability, and
// checks it against those. have is the attributes of its rs:md; described reports
// whether it has one.
func (d *Decoder) checkHead(described bool, have attrSet) error {
	h := &d.head
	if !described && h.plain() {
		return nil
	}
	c := h.Metadata.Capability
	if c == "" {
		return d.deviate(core7, "capability-missing", "the document has no capability")
	}
	if extra := have &^ ofDocuments; extra != 0 {
		if err := d.deviate(core7, "attribute-misplaced", "the rs:md of a document has no attribute %s", extra.first()); err != nil {
			return err
		}
		have &= ofDocuments
	}
	r := allRules[docType{c, h.Index}]
	if r == nil {
		if r = allRules[docType{c, false}]; r != nil {
			return d.deviate(r.section, "index-not-allowed", "there is no index of %s documents", c)
		}
		return nil
	}
	d.rules = r
	if extra := have &^ (r.may | capability); extra != 0 {
		if err := d.deviate(core7, "attribute-misplaced", "the rs:md of a %s document has no attribute %s", c, extra.first()); err != nil {
			return err
		}
	}
	if missing := r.must &^ have; missing != 0 {
		if err := d.deviate(r.section, missing.first()+"-missing", "the rs:md of a %s document must have the attribute %s", c, missing.first()); err != nil {
			return err
		}
	}
	return d.checkPaths(h.Links)
}

// checkEntry checks an entry against section 7 and the rules of the document.
func (d *Decoder) checkEntry(e *Entry, described bool, have attrSet) error {
	if e.Loc == "" {
		return d.deviate(core7, "loc-missing", "an entry has no loc")
	}
	if err := d.checkDatetime(e.Metadata.Datetime); err != nil {
		return err
	}
	r := d.rules
	if r == nil {
		return nil
	}
	m := &e.Metadata
	c := d.head.Metadata.Capability
	if extra := have &^ (r.entryMay | ofResources); extra != 0 {
		if err := d.deviate(core7, "attribute-misplaced", "the rs:md of an entry of a %s document has no attribute %s", c, extra.first()); err != nil {
			return err
		}
	}
	must := r.entryMust
	switch {
	case m.Change == resourcesync.Deleted:
		must &^= path // a deleted resource has no bitstream
	case c == resourcesync.Description && !d.head.Index && described:
		must |= capability // the rs:md itself is optional
	}
	if missing := must &^ have; missing != 0 {
		if err := d.deviate(r.section, "entry-"+missing.first()+"-missing", "the rs:md of an entry of a %s document must have the attribute %s", c, missing.first()); err != nil {
			return err
		}
	}
	if err := d.checkCapability(m.Capability); err != nil {
		return err
	}
	if have&path != 0 && !strings.HasPrefix(m.Path, "/") {
		if err := d.deviate(r.section, "path-slash", "the path %s does not begin with a slash", quote(m.Path)); err != nil {
			return err
		}
	}
	if err := d.checkPaths(e.Links); err != nil {
		return err
	}
	return d.checkOrder(m)
}

// checkDatetime checks that the time of a change is within the document's interval.
func (d *Decoder) checkDatetime(t time.Time) error {
	m := &d.head.Metadata
	switch {
	case t.IsZero():
	case t.Before(m.From):
		return d.deviate(core7, "datetime-interval", "datetime is before the from of the document")
	case !m.Until.IsZero() && t.After(m.Until):
		return d.deviate(core7, "datetime-interval", "datetime is after the until of the document")
	}
	return nil
}

// checkCapability checks the capability of the document that an entry leads to.
func (d *Decoder) checkCapability(c resourcesync.Capability) error {
	if d.head.Index || c == "" {
		return nil
	}
	switch d.head.Metadata.Capability {
	case resourcesync.Description:
		if c != resourcesync.CapabilityList {
			return d.deviate(d.rules.section, "entry-capability", "the capability of an entry is %s, not %s", quote(string(c)), resourcesync.CapabilityList)
		}
	case resourcesync.CapabilityList:
		if d.listed[c] {
			return d.deviate(d.rules.section, "capability-repeated", "two entries have the capability %s", quote(string(c)))
		}
		if d.listed == nil {
			d.listed = make(map[resourcesync.Capability]bool)
		}
		d.listed[c] = true
	}
	return nil
}

// checkPaths checks the paths of links: only links of manifests have them.
func (d *Decoder) checkPaths(links []resourcesync.Link) error {
	for i := range links {
		var err error
		switch p := links[i].Path; {
		case p == "":
		case d.rules.entryMay&path == 0:
			err = d.deviate(core7, "attribute-misplaced", "a link has a path, but the document is not a manifest")
		case !strings.HasPrefix(p, "/"):
			err = d.deviate(d.rules.section, "path-slash", "the path %s does not begin with a slash", quote(p))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkOrder checks that the entries that have times are in chronological order.
// Entries with equal times may be in any order.
func (d *Decoder) checkOrder(m *Metadata) error {
	var t time.Time
	switch d.rules.inOrder {
	case datetime:
		t = m.Datetime
	case from:
		t = m.From
	case at:
		t = m.At
	}
	if t.IsZero() {
		return nil
	}
	if t.Before(d.last) {
		return d.deviate(d.rules.section, "entry-order", "entries are not in chronological order: %s is before the time of an earlier entry", d.rules.inOrder.first())
	}
	d.last = t
	return nil
}
