package rsxml

import (
	"cmp"
	"encoding/xml"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
)

// checkNames checks what encoding/xml leaves unchecked in a start tag: that no
// attribute is repeated and that prefixes are declared.
func (d *Decoder) checkNames(t xml.StartElement) error {
	if err := d.checkPrefix(t.Name); err != nil {
		return err
	}
	d.names = d.names[:0]
	for _, a := range t.Attr {
		d.names = append(d.names, a.Name)
		switch {
		case a.Name.Space != "xmlns":
			if err := d.checkPrefix(a.Name); err != nil {
				return err
			}
		case a.Value == "":
			return d.fail(xmlSpec, "the prefix %s is declared without a namespace", quote(a.Name.Local))
		}
	}
	slices.SortFunc(d.names, func(a, b xml.Name) int {
		return cmp.Or(strings.Compare(a.Local, b.Local), strings.Compare(a.Space, b.Space))
	})
	for i := 1; i < len(d.names); i++ {
		if d.names[i] == d.names[i-1] {
			return d.fail(xmlSpec, "the attribute %s is repeated", quote(d.names[i].Local))
		}
	}
	return nil
}

// checkPrefix refuses undeclared prefixes, which encoding/xml takes for
// namespaces. A namespace is an absolute URI and has a colon, a prefix has none.
func (d *Decoder) checkPrefix(n xml.Name) error {
	if n.Space == "" || strings.Contains(n.Space, ":") {
		return nil
	}
	return d.breaks(xmlSpec, "the prefix %s is not declared", quote(n.Space))
}

// elementName returns the name of an element as the specification writes it,
// with the prefix rs in its namespace, and "" for an element of a foreign
// namespace.
func (d *Decoder) elementName(n xml.Name) (string, error) {
	switch n.Space {
	case SitemapNS:
		return n.Local, nil
	case TermsNS:
		return "rs:" + n.Local, nil
	}
	if d.lenient {
		switch {
		case n.Space == "" || n.Space == d.rootNS || sameNS(n.Space, SitemapNS):
			return n.Local, nil
		case sameNS(n.Space, TermsNS):
			return "rs:" + n.Local, nil
		}
		return "", nil
	}
	return "", d.checkNS(n)
}

// checkNS refuses the name of an element if it is in no namespace, or in what
// was meant to be one of ours. Namespaces are compared as strings; those that
// nearly are ours hide all of ResourceSync from a Destination.
func (d *Decoder) checkNS(n xml.Name) error {
	if n.Space == "" {
		return d.fail(core4, "%s is in no namespace", quote(n.Local))
	}
	for _, ns := range []string{SitemapNS, TermsNS} {
		if sameNS(n.Space, ns) {
			return d.fail(core4, "the namespace %s is not %s", quote(n.Space), ns)
		}
	}
	return nil
}

// sameNS reports whether ns was meant to be the namespace want.
func sameNS(ns, want string) bool {
	return strings.EqualFold(bareNS(ns), bareNS(want))
}

func bareNS(ns string) string {
	if _, rest, ok := strings.Cut(ns, "://"); ok {
		ns = rest
	}
	if www := "www."; len(ns) >= len(www) && strings.EqualFold(ns[:len(www)], www) {
		ns = ns[len(www):]
	}
	return strings.TrimRight(ns, "/")
}

// attributes calls set for each attribute of t that ResourceSync or the Sitemap
// protocol may have defined, and returns those of other namespaces that an Attr
// can hold. Declarations of namespaces are neither.
func (d *Decoder) attributes(t xml.StartElement, set func(name, value string) error) (foreign []resourcesync.Attr, err error) {
	for _, a := range t.Attr {
		switch {
		case a.Name.Space == "xmlns" || a.Name.Space == "" && a.Name.Local == "xmlns":
			continue
		case a.Name.Space == "":
			err = set(a.Name.Local, a.Value)
		case sameNS(a.Name.Space, TermsNS) || sameNS(a.Name.Space, SitemapNS):
			if err = d.breaks(core7, "the attribute %s has a prefix", quote(a.Name.Local)); err == nil {
				err = set(a.Name.Local, a.Value)
			}
		default:
			attr := resourcesync.Attr{Space: a.Name.Space, Name: a.Name.Local, Value: a.Value}
			if expressible(&attr) {
				foreign = append(foreign, attr)
			} else {
				err = d.breaks(xmlSpec, "the attribute %s has no proper name", quote(a.Name.Local))
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return foreign, nil
}

// noAttributes checks an element that has none of its own. Those of other
// namespaces, such as xsi:schemaLocation, are ignored.
func (d *Decoder) noAttributes(t xml.StartElement) error {
	_, err := d.attributes(t, func(name, _ string) error {
		return d.breaks(core7, "%s has no attribute %s", t.Name.Local, quote(name))
	})
	return err
}
