package check

import (
	"hash/maphash"
	"mime"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/digest"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// entryRules are the rules of the entries of a document that a Decoder does not know. Advice
// that applies to many entries is given once, at the first of them.
type entryRules struct {
	*reading

	undated, unversioned, undescribed, foreign, algorithms, parts repeated

	lastmod         time.Time // of the previous entry
	rising, falling int       // pairs of neighbours
	fallingAt       place
	from, until     time.Time // of the previous entry
	open            bool      // the previous entry has no until
	origin          string    // of the document, with a slash, if it has a URL
	foreignHost     string
	algorithm       string
	media           string // the type of the previous entry
	badMedia        bool   // it is not a media type
	part            string // the first entry that would belong into an index
	format          string // of packages
	mixed           bool   // they have several formats
}

// repeated counts entries with the same defect.
type repeated struct {
	first place
	count int64
}

func (r *repeated) note(at place) {
	if r.count++; r.count == 1 {
		r.first = at
	}
}

// check checks an entry.
func (r *entryRules) check(e *rsxml.Entry, at place) {
	r.addSums(e)
	m := &e.Metadata
	r.past("at", m.At, at)
	r.past("from", m.From, at)
	r.past("until", m.Until, at)
	r.past("datetime", m.Datetime, at)
	r.checkHashes(m.Hashes, at)
	if m.Type != r.media {
		_, _, err := mime.ParseMediaType(m.Type)
		r.media, r.badMedia = m.Type, m.Type != "" && (err != nil || !strings.Contains(m.Type, "/"))
	}
	if r.badMedia {
		r.add("type-syntax", at, "", "the type is %.100q", m.Type)
	}
	r.checkHost(e.Loc, at)
	r.checkLinks(e.Links, at)
	switch {
	case r.isPart(e):
		if r.parts.note(at); r.part == "" {
			r.part = e.Loc
		}
		r.checkPart(e, at)
	case r.head.Index:
		r.checkPart(e, at)
	case r.capability == resourcesync.CapabilityList:
		if m.Capability != "" && !specified(tree.Today(m.Capability)) {
			r.add("capability-unknown", at, "Core 6.1", "the capability is %.100q, which these specifications do not define", m.Capability)
		}
	case r.capability == resourcesync.ResourceList:
		if _, known := m.Length.Bytes(); e.LastMod.IsZero() && len(m.Hashes) == 0 && !known {
			r.undescribed.note(at)
		}
	case r.capability == resourcesync.ChangeList || r.capability == resourcesync.ChangeNotification:
		r.checkChange(e, at)
	case r.capability == resourcesync.ResourceDump:
		r.checkPackage(e, at)
	case r.capability == resourcesync.ChangeDump:
		r.checkSequence(m, at)
		r.checkPackage(e, at)
	case r.capability == resourcesync.FrameworkNotification:
		if may := notified[tree.Today(m.Capability)]; may != nil && m.Change != "" && !slices.Contains(may, m.Change) {
			r.add("notification-change", at, "", "the notification says that a %s document was %s", m.Capability, m.Change)
		}
	}
}

// addSums adds an entry to the hashes of the entries.
func (r *entryRules) addSums(e *rsxml.Entry) {
	var h maphash.Hash
	h.SetSeed(seed)
	m := &e.Metadata
	length, _ := m.Length.Bytes()
	for _, s := range [...]string{e.Loc, string(m.Capability), string(m.Change), m.Path} {
		h.WriteString(s)
		h.WriteByte(0)
	}
	maphash.WriteComparable(&h, length)
	maphash.WriteComparable(&h, m.Datetime.UnixNano())
	if r.head.Index { // the time of a part is all that an index says about a change in it
		maphash.WriteComparable(&h, e.LastMod.UnixNano())
	}
	for _, hash := range m.Hashes {
		h.WriteString(hash.Digest)
	}
	sum := h.Sum64()
	r.unordered += sum
	r.ordered = r.ordered*31 + sum
}

// isDigest reports whether the digest of h can be one of its algorithm, in hexadecimal.
func isDigest(h resourcesync.Hash) bool {
	want := digest.Size(h.Algorithm)
	return want == 0 || len(h.Digest) == 2*want && strings.Trim(h.Digest, "0123456789abcdefABCDEF") == ""
}

func (r *entryRules) checkHashes(hashes []resourcesync.Hash, at place) {
	common := len(hashes) == 0
	for _, h := range hashes {
		switch h.Algorithm {
		case "md5", "sha-1", "sha-256":
			common = true
		default:
			r.algorithm = h.Algorithm
		}
		if !isDigest(h) {
			r.add("hash-digest", at, "", "the digest of %s is %.100q, not %d hexadecimal digits", h.Algorithm, h.Digest, 2*digest.Size(h.Algorithm))
		}
	}
	if !common {
		r.algorithms.note(at)
	}
}

// checkHost compares the host of an entry with the host of the document.
func (r *entryRules) checkHost(loc string, at place) {
	if r.base == nil || strings.HasPrefix(loc, r.origin) {
		return
	}
	u, err := url.Parse(loc)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Scheme == r.base.Scheme && strings.EqualFold(u.Host, r.base.Host) {
		return
	}
	if r.foreign.note(at); r.foreignHost == "" {
		r.foreignHost = u.Scheme + "://" + u.Host
	}
}

// checkPart checks an entry of an index.
func (r *entryRules) checkPart(e *rsxml.Entry, at place) {
	m := &e.Metadata
	above := r.capability == resourcesync.Description || r.capability == resourcesync.CapabilityList
	if e.LastMod.IsZero() && m.At.IsZero() && m.From.IsZero() && !above && r.head.Index {
		r.unversioned.note(at)
	}
	if r.capability == resourcesync.ChangeList || r.capability == resourcesync.ChangeDump {
		r.checkSequence(m, at)
	}
}

// checkSequence compares the interval of an entry with the interval of the entry before.
func (r *entryRules) checkSequence(m *rsxml.Metadata, at place) {
	r.checkBounds(m, at)
	if m.From.IsZero() {
		return
	}
	switch {
	case r.from.IsZero(): // the first
	case m.From.Before(r.from):
		if r.capability == resourcesync.ChangeDump {
			r.add("package-order", at, "", "from is %s, but from of the previous entry is %s", m.From.Format(time.RFC3339Nano), r.from.Format(time.RFC3339Nano))
		}
	case r.open:
		r.add("interval-overlap", at, section(r.capability, true), "an open list, from %s, is before this one", r.from.Format(time.RFC3339Nano))
	case m.From.Before(r.until):
		r.add("interval-overlap", at, section(r.capability, true), "from is %s, but the one before is until %s", m.From.Format(time.RFC3339Nano), r.until.Format(time.RFC3339Nano))
	case m.From.After(r.until):
		r.add("interval-gap", at, section(r.capability, true), "from is %s, but the one before is until %s", m.From.Format(time.RFC3339Nano), r.until.Format(time.RFC3339Nano))
	}
	r.from, r.until, r.open = m.From, m.Until, m.Until.IsZero()
}

// checkChange checks an entry of a Change List.
func (r *entryRules) checkChange(e *rsxml.Entry, at place) {
	m := &e.Metadata
	if _, known := m.Length.Bytes(); m.Change == resourcesync.Deleted && (known || len(m.Hashes) > 0 || m.Type != "") {
		r.add("deleted-described", at, "", "the entry of the deleted resource describes a representation")
	}
	if !m.Datetime.IsZero() {
		return
	}
	r.undated.note(at)
	switch {
	case e.LastMod.IsZero() || r.lastmod.IsZero():
	case e.LastMod.After(r.lastmod):
		r.rising++
	case e.LastMod.Before(r.lastmod):
		if r.falling++; r.falling == 1 {
			r.fallingAt = at
		}
	}
	if !e.LastMod.IsZero() {
		r.lastmod = e.LastMod
	}
}

// end reports violations of the counts.
func (r *entryRules) end() {
	for _, n := range []struct {
		rule, section string
		*repeated
		text string
	}{
		{"datetime-missing", r.section(), &r.undated, "changes have no datetime"},
		{"lastmod-missing", r.section(), &r.unversioned, "entries have no lastmod and no time"},
		{"resource-undescribed", "", &r.undescribed, "entries have no lastmod, hash or length"},
		{"mixed-hosts", "", &r.foreign, "entries are at other hosts, such as " + r.foreignHost},
		{"hash-algorithm", "", &r.algorithms, "entries have only hashes with other algorithms, such as " + r.algorithm},
	} {
		if n.count > 0 {
			r.add(n.rule, n.first, n.section, "%d of %d %s", n.count, r.entries, n.text)
		}
	}
	if r.head.Index && r.entries == 0 {
		r.add("index-empty", r.document.place, "", "the index has no entries")
	}
	r.endParts()
	if r.falling > 1 && r.falling > 4*r.rising {
		r.add("newest-first", r.fallingAt, "", "lastmod descends from entry to entry")
	}
}
