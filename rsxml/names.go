package rsxml

import (
	"cmp"
	"encoding/xml"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
)

// checkNames checks two rules that encoding/xml does not check in a start tag: no
// attribute is repeated, and all prefixes are declared.
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

// checkPrefix refuses undeclared prefixes, which encoding/xml reports as namespaces. A
// namespace is an absolute URI and has a colon; a prefix has none.
func (d *Decoder) checkPrefix(n xml.Name) error {
	if n.Space == "" || strings.Contains(n.Space, ":") {
		return nil
	}
	return d.fail(xmlSpec, "the prefix %s is not declared", quote(n.Space))
}

// elementName returns the name of an element as the specification writes it, with the
// prefix rs for the namespace of ResourceSync. The name of an element of a foreign
// namespace is empty.
func (d *Decoder) elementName(n xml.Name) (string, error) {
	switch n.Space {
	case SitemapNS:
		return n.Local, nil
	case TermsNS:
		return "rs:" + n.Local, nil
	case "":
		return "", d.fail(core4, "%s is in no namespace", quote(n.Local))
	}
	// Namespaces are compared as strings, so a misspelled one hides all of
	// ResourceSync from a Destination.
	for _, ns := range []string{SitemapNS, TermsNS} {
		if sameNS(n.Space, ns) {
			return "", d.fail(core4, "the namespace %s is not %s", quote(n.Space), ns)
		}
	}
	return "", nil
}

// sameNS reports whether ns is the namespace want or a misspelling of it.
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

// attributes calls set for each attribute of t without a namespace, and returns the
// attributes of foreign namespaces. It ignores declarations of namespaces.
func (d *Decoder) attributes(t xml.StartElement, set func(name, value string) error) (foreign []resourcesync.Attr, err error) {
	for _, a := range t.Attr {
		switch {
		case a.Name.Space == "xmlns" || a.Name.Space == "" && a.Name.Local == "xmlns":
			continue
		case a.Name.Space == "":
			err = set(a.Name.Local, a.Value)
		case sameNS(a.Name.Space, TermsNS) || sameNS(a.Name.Space, SitemapNS):
			err = d.fail(core7, "the attribute %s has a prefix", quote(a.Name.Local))
		default:
			attr := resourcesync.Attr{Space: a.Name.Space, Name: a.Name.Local, Value: a.Value}
			if expressible(&attr) {
				foreign = append(foreign, attr)
			} else {
				err = d.fail(xmlSpec, "the attribute %s has an invalid name", quote(a.Name.Local))
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return foreign, nil
}

// noAttributes checks that an element has no attributes, except those of foreign
// namespaces such as xsi:schemaLocation.
func (d *Decoder) noAttributes(t xml.StartElement) error {
	_, err := d.attributes(t, func(name, _ string) error {
		return d.fail(core7, "%s has no attribute %s", t.Name.Local, quote(name))
	})
	return err
}
