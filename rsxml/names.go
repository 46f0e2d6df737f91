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
			if err := d.deviate(xmlSpec, "namespace-prefix", "the prefix %s is declared without a namespace", quote(a.Name.Local)); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(d.names, func(a, b xml.Name) int {
		return cmp.Or(strings.Compare(a.Local, b.Local), strings.Compare(a.Space, b.Space))
	})
	for i := 1; i < len(d.names); i++ {
		if d.names[i] == d.names[i-1] {
			if err := d.deviate(xmlSpec, "xml", "the attribute %s is repeated", quote(d.names[i].Local)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPrefix refuses undeclared prefixes, which encoding/xml reports as namespaces. A
// namespace is an absolute URI and has a colon, or at least a slash if the scheme has been
// forgotten; a prefix has neither.
func (d *Decoder) checkPrefix(n xml.Name) error {
	if n.Space == "" || strings.ContainsAny(n.Space, ":/") {
		return nil
	}
	return d.deviate(xmlSpec, "namespace-prefix", "the prefix %s is not declared", quote(n.Space))
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
		if d.space == "" && d.report != nil {
			return n.Local, nil // the root has been reported
		}
		return n.Local, d.deviate(core4, "namespace", "%s is in no namespace", quote(n.Local))
	}
	switch {
	case n.Space == d.foreign: // the usual case
		return "", nil
	case isOtherTerms(n.Space):
		return "", d.otherTerms(n.Space)
	case sameNS(n.Space, TermsNS):
		return "rs:" + n.Local, d.deviate(core4, "namespace", "the namespace %s is not %s", quote(n.Space), TermsNS)
	case n.Space == "rs": // the prefix is not declared, which has been reported
		return "rs:" + n.Local, nil
	case n.Space == d.space: // the root has been reported
		return n.Local, nil
	case sameNS(n.Space, SitemapNS):
		return n.Local, d.deviate(core4, "namespace", "the namespace %s is not %s", quote(n.Space), SitemapNS)
	}
	d.foreign = n.Space
	return "", nil
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
		case isOtherTerms(a.Name.Space):
			err = d.otherTerms(a.Name.Space)
		case a.Name.Space == "rs" || sameNS(a.Name.Space, TermsNS) || sameNS(a.Name.Space, SitemapNS):
			if err = d.deviate(core7, "attribute-prefix", "the attribute %s has a prefix", quote(a.Name.Local)); err == nil {
				err = set(a.Name.Local, a.Value)
			}
		default:
			attr := resourcesync.Attr{Space: a.Name.Space, Name: a.Name.Local, Value: a.Value}
			if expressible(&attr) {
				foreign = append(foreign, attr)
			} else {
				err = d.deviate(xmlSpec, "xml", "the attribute %s has an invalid name", quote(a.Name.Local))
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
		return d.deviate(core7, "attribute-unknown", "%s has no attribute %s", t.Name.Local, quote(name))
	})
	return err
}
