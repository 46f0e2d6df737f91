package rsxml

import (
	"errors"
	"fmt"

	"github.com/resourcesync-go/resourcesync"
)

// CheckResource reports why r cannot be published in full: [CheckURI] refuses its URI,
// or [CheckEntry] refuses other values of its entry. Stores call it before they accept
// a resource.
func CheckResource(r *resourcesync.Resource) error {
	if err := CheckURI(r.URI); err != nil {
		return err
	}
	var e Entry
	e.SetResource(r)
	return CheckEntry(&listHead, &e)
}

var listHead = Head{Metadata: Metadata{Capability: resourcesync.ResourceList}}

// CheckEntry reports which values of e [AppendEntry] omits from the document of h, and
// why. It joins one error per value, which names the field. It does not check Loc, and
// allocates only if there is an error.
func CheckEntry(h *Head, e *Entry) error {
	var c fieldChecker
	if e.ChangeFreq != "" && !isChangeFreq(e.ChangeFreq) {
		c.bad("ChangeFreq", e.ChangeFreq, "use always, hourly, daily, weekly, monthly, yearly or never")
	}
	if !h.plain() {
		m := &e.Metadata
		c.described("", m.Hashes, m.Type, m.Encoding, m.Attrs)
		for i := range e.Links {
			c.link(i, &e.Links[i], h.isManifest())
		}
	}
	if c.errs == nil && textLength(e) > maxElement/8 {
		// Escaping turns a byte into at most six.
		if _, dropped := AppendEntry(nil, h, e); dropped > 0 {
			c.errs = append(c.errs, fmt.Errorf("rsxml: the entry has more than %d bytes: %d of its links or attributes are omitted", maxElement, dropped))
		}
	}
	return errors.Join(c.errs...)
}

// textLength estimates the total length of the values in e without a limit of their
// own, in bytes.
func textLength(e *Entry) int {
	n := attrsLength(e.Metadata.Attrs) + hashesLength(e.Metadata.Hashes)
	for i := range e.Links {
		l := &e.Links[i]
		n += 200 + len(l.Rel) + len(l.Href) + len(l.Type) + len(l.Encoding) + len(l.Path) + attrsLength(l.Attrs) + hashesLength(l.Hashes)
	}
	return n
}

func attrsLength(attrs []resourcesync.Attr) (n int) {
	for i := range attrs {
		n += 30 + len(attrs[i].Space) + len(attrs[i].Name) + len(attrs[i].Value)
	}
	return n
}

// hashesLength weights hashes so that more than maxValue bytes of them trigger the
// exact check.
func hashesLength(hashes []resourcesync.Hash) (n int) {
	for i := range hashes {
		n += 2 + len(hashes[i].Algorithm) + len(hashes[i].Digest)
	}
	return n * (maxElement / 8 / maxValue)
}

// A fieldChecker collects the errors in the fields of an entry.
type fieldChecker struct{ errs []error }

func (c *fieldChecker) bad(field, value, remedy string) {
	c.errs = append(c.errs, fmt.Errorf("rsxml: %s is %s: %s", field, quote(value), remedy))
}

func (c *fieldChecker) link(i int, l *resourcesync.Link, manifest bool) {
	if isRelation(l.Rel) && isHref(l.Href) && (l.Path == "" || manifest && isPath(l.Path)) &&
		0 <= l.Pri && l.Pri <= maxPri && describes(l.Hashes, l.Type, l.Encoding, l.Attrs) {
		return
	}
	name := fmt.Sprintf("Links[%d].", i)
	switch {
	case l.Rel == "":
		c.bad(name+"Rel", "", "a link needs a registered relation type or a URI")
	case !isRelation(l.Rel):
		c.bad(name+"Rel", l.Rel, "use a registered relation type in lower case, or a URI")
	}
	if len(l.Href) > maxValue {
		c.bad(name+"Href", l.Href, "it is too long")
	} else if err := checkURI(l.Href); err != nil {
		c.errs = append(c.errs, fmt.Errorf("rsxml: %sHref is %s: it %w", name, quote(l.Href), err))
	}
	switch {
	case l.Path == "":
	case !manifest:
		c.bad(name+"Path", l.Path, "leave it empty, only manifests have paths")
	case !isPath(l.Path):
		c.bad(name+"Path", l.Path, "begin it with a slash")
	}
	if l.Pri < 0 || l.Pri > maxPri {
		c.errs = append(c.errs, fmt.Errorf("rsxml: %sPri is %d: use 1 to %d, or 0 for none", name, l.Pri, maxPri))
	}
	c.described(name, l.Hashes, l.Type, l.Encoding, l.Attrs)
}

// describes reports whether described finds no error.
func describes(hashes []resourcesync.Hash, mediaType, codings string, attrs []resourcesync.Attr) bool {
	var c fieldChecker
	c.described("", hashes, mediaType, codings, attrs)
	return c.errs == nil
}

// described checks the fields that resources and links share. prefix comes before
// their names.
func (c *fieldChecker) described(prefix string, hashes []resourcesync.Hash, mediaType, codings string, attrs []resourcesync.Attr) {
	for i := range hashes {
		if h := &hashes[i]; !isHash(h) {
			c.bad(fmt.Sprintf("%sHashes[%d]", prefix, i), h.String(), "use a token such as sha-256 and a digest in hexadecimal")
		}
	}
	if mediaType != "" && !isMediaType(mediaType) {
		c.bad(prefix+"Type", mediaType, "use a media type such as text/html")
	}
	if codings != "" && !isCodings(codings) {
		c.bad(prefix+"Encoding", codings, "use content codings such as gzip, separated by commas")
	}
	for i := range attrs {
		switch a := &attrs[i]; {
		case !isAttr(a):
			c.bad(fmt.Sprintf("%sAttrs[%d]", prefix, i), a.Space+" "+a.Name, "use an absolute URI of your own as Space, and an XML name without a colon as Name")
		case repeated(attrs[:i], a):
			c.bad(fmt.Sprintf("%sAttrs[%d]", prefix, i), a.Space+" "+a.Name, "there is another one with this name")
		}
	}
}
