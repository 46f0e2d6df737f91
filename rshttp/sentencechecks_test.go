package rshttp_test

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// A shown sentence fails a test if a Source does not keep to it.
type shown func(*testing.T, *published)

// everywhere checks each document of some kinds.
func everywhere(check func(*readDocument) bool, kinds ...string) shown {
	return func(t *testing.T, p *published) {
		for _, d := range p.of(t, kinds...) {
			if !check(d) {
				t.Errorf("%s (%s): %v %v", d.uri, d.kind, d.md().Attrs, d.all("rs:ln"))
			}
		}
	}
}

// each checks each entry of documents of some kinds.
func each(check func(*element) bool, kinds ...string) shown {
	return func(t *testing.T, p *published) {
		n := 0
		for _, d := range p.of(t, kinds...) {
			for _, e := range d.entries() {
				if n++; !check(e) {
					t.Errorf("%s (%s): the entry of %s, %v", d.uri, d.kind, e.loc(), e.md().Attrs)
				}
			}
		}
		if n == 0 {
			t.Error("no entries")
		}
	}
}

// some wants at least one such entry in the documents of each of some kinds.
func some(check func(*element) bool, kinds ...string) shown {
	return func(t *testing.T, p *published) {
		for _, kind := range kinds {
			if !slices.ContainsFunc(p.of(t, kind), func(d *readDocument) bool { return slices.ContainsFunc(d.entries(), check) }) {
				t.Errorf("no %s has such an entry", kind)
			}
		}
	}
}

// elements returns all elements of a document.
func (e *element) elements() []*element {
	all := []*element{e}
	for _, c := range e.Children {
		all = append(all, c.elements()...)
	}
	return all
}

func isDatetime(s string) bool {
	_, err := time.Parse(time.RFC3339Nano, s)
	return err == nil && strings.HasSuffix(s, "Z")
}

func datetime(s string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, s)
	return at
}

// Elements, attributes and the head.

func root(name string, kinds ...string) shown {
	return everywhere(func(d *readDocument) bool { return d.XMLName.Local == name && d.XMLName.Space == sitemapNamespace }, kinds...)
}

func namespaces() shown {
	return everywhere(func(d *readDocument) bool {
		for _, e := range d.elements() {
			want := sitemapNamespace
			if e.XMLName.Local == "md" || e.XMLName.Local == "ln" {
				want = termsNamespace
			}
			if e.XMLName.Space != want {
				return false
			}
		}
		return true
	}, allKinds...)
}

// plainAttributes allows the attributes of table 3 only, without namespace.
func plainAttributes() shown {
	known := strings.Fields("at capability change completed datetime encoding from hash href length modified path pri rel type until")
	return everywhere(func(d *readDocument) bool {
		for _, e := range d.elements() {
			for _, a := range e.Attrs {
				if declares := a.Name.Space == "xmlns" || a.Name.Local == "xmlns"; !declares && (a.Name.Space != "" || !slices.Contains(known, a.Name.Local)) {
					return false
				}
			}
		}
		return true
	}, allKinds...)
}

func oneMD() shown {
	return everywhere(func(d *readDocument) bool { return len(d.all("rs:md")) == 1 && d.md().attr("capability") != "" }, allKinds...)
}

func capability(value string, kinds ...string) shown {
	return everywhere(func(d *readDocument) bool { return d.md().attr("capability") == value }, kinds...)
}

func headHas(attr string, kinds ...string) shown {
	return everywhere(func(d *readDocument) bool { return isDatetime(d.md().attr(attr)) }, kinds...)
}

func headNot(attr string, kinds ...string) shown {
	return everywhere(func(d *readDocument) bool { return d.md().attr(attr) == "" }, kinds...)
}

func someHead(attr string, kinds ...string) shown {
	return func(t *testing.T, p *published) {
		for _, kind := range kinds {
			if !slices.ContainsFunc(p.of(t, kind), func(d *readDocument) bool { return d.md().attr(attr) != "" }) {
				t.Errorf("no %s has %s", kind, attr)
			}
		}
	}
}

func datetimes() shown {
	return everywhere(func(d *readDocument) bool {
		for _, e := range d.elements() {
			for _, a := range e.Attrs {
				if slices.Contains([]string{"at", "completed", "datetime", "from", "modified", "until"}, a.Name.Local) && !isDatetime(a.Value) {
					return false
				}
			}
			if e.XMLName.Local == "lastmod" && !isDatetime(e.Text) {
				return false
			}
		}
		return true
	}, allKinds...)
}

// appendixA wants an attribute in the head, and of at and from only those in entries that may or
// should be there.
func appendixA(kind, head, may, should string) shown {
	return func(t *testing.T, p *published) {
		other := map[string]string{"at": "from", "from": "at"}[head]
		headHas(head, kind)(t, p)
		headNot(other, kind)(t, p)
		for _, attr := range []string{"at", "from"} {
			if attr == should {
				everyMD(attr, kind)(t, p)
			} else if attr != may {
				entryNot(attr, kind)(t, p)
			}
		}
	}
}

// Links of documents, and the tree.

func up(kinds ...string) shown {
	return everywhere(func(d *readDocument) bool {
		want := d.set
		if d.kind == cl {
			want = "https://example.org/.well-known/resourcesync"
		}
		return slices.Equal(d.link("up"), []string{want})
	}, kinds...)
}

func ups() shown {
	return func(t *testing.T, p *published) {
		for _, d := range p.all {
			for level := 0; d.kind != sd; level++ {
				above := d.link("up")
				if level > 3 || len(above) != 1 || p.at(above[0]) == nil {
					t.Fatalf("%s: up leads to %q", d.uri, above)
				}
				d = p.at(above[0])
			}
		}
	}
}

// indexLink wants a link to the index from its parts, and none from other documents.
func indexLink(kinds ...string) shown {
	return func(t *testing.T, p *published) {
		for _, kind := range kinds {
			parts := 0
			for _, d := range p.of(t, kind) {
				var want []string
				if d.index != nil {
					parts++
					want = []string{d.index.uri}
				}
				if got := d.link("index"); !slices.Equal(got, want) {
					t.Errorf("%s: index leads to %q, want %q", d.uri, got, want)
				}
			}
			if parts == 0 {
				t.Errorf("no %s has an index", kind)
			}
		}
	}
}

// headLinks wants the links of a document to point to the documents that they name.
func headLinks() shown {
	return func(t *testing.T, p *published) {
		repeated := false
		for _, d := range p.all {
			repeated = repeated || len(d.all("rs:ln")) > 1
			for _, rel := range []string{"up", "index"} {
				for _, target := range d.link(rel) {
					if above := p.at(target); above == nil || rel == "index" && !strings.HasSuffix(above.kind, " index") {
						t.Errorf("%s: %s leads to %s", d.uri, rel, target)
					}
				}
			}
		}
		if !repeated {
			t.Error("no document has several links")
		}
	}
}

func headLink(rel string, kinds ...string) shown {
	return everywhere(func(d *readDocument) bool { return len(d.link(rel)) == 1 }, kinds...)
}

func hrefs() shown {
	return everywhere(func(d *readDocument) bool {
		for _, e := range d.elements() {
			if to, err := url.Parse(e.attr("href")); e.XMLName.Local == "ln" && (err != nil || !to.IsAbs() || e.attr("rel") == "") {
				return false
			}
		}
		return true
	}, allKinds...)
}

var relationURI = regexp.MustCompile(`^https?://`)

// relations wants registered relations, or URIs.
func relations() shown {
	registered := strings.Fields("alternate canonical collection contents describedby describes duplicate index memento profile timegate timemap up via")
	return everywhere(func(d *readDocument) bool {
		for _, e := range d.elements() {
			if rel := e.attr("rel"); e.XMLName.Local == "ln" && !slices.Contains(registered, rel) && !relationURI.MatchString(rel) {
				return false
			}
		}
		return true
	}, allKinds...)
}

// children wants as many documents of a kind as all documents above them list.
func children(above, below string) shown {
	return func(t *testing.T, p *published) {
		var listed []string
		for _, d := range p.of(t, above) {
			for _, e := range d.entries() {
				listed = append(listed, e.loc())
				if found := p.at(e.loc()); found == nil || found.kind != below {
					t.Errorf("%s lists %s", d.uri, e.loc())
				}
			}
		}
		if len(listed) != 2 || len(listed) != len(p.of(t, below)) {
			t.Errorf("listed: %q", listed)
		}
	}
}

// advertised wants the entries of Source Descriptions and Capability Lists to state the capability
// of their documents.
func advertised() shown {
	return func(t *testing.T, p *published) {
		for _, d := range p.of(t, sd, cl) {
			for _, e := range d.entries() {
				below := p.at(e.loc())
				if below == nil || below.md().attr("capability") != e.md().attr("capability") {
					t.Errorf("%s lists %s as %s", d.uri, e.loc(), e.md().attr("capability"))
				}
			}
		}
	}
}

func sameCapability() shown {
	return func(t *testing.T, p *published) {
		for _, d := range p.of(t, allKinds...) {
			if d.index != nil && d.index.md().attr("capability") != d.md().attr("capability") {
				t.Errorf("%s is a %s in an index of %s", d.uri, d.kind, d.index.kind)
			}
		}
	}
}

// divided wants a urlset where one suffices, and otherwise an index that lists all parts.
func divided() shown {
	return func(t *testing.T, p *published) {
		for _, kind := range []string{rl, rd, chl, cd} {
			var alone, parts int
			for _, d := range p.of(t, kind) {
				if d.index == nil {
					alone++
				} else {
					parts++
				}
			}
			listed := 0
			for _, d := range p.of(t, kind+" index") {
				listed += len(d.entries())
			}
			if alone != 1 || parts < 2 || listed != parts {
				t.Errorf("%s: %d without an index, %d with one that lists %d", kind, alone, parts, listed)
			}
		}
	}
}

func onceEach() shown {
	return everywhere(func(d *readDocument) bool {
		seen := make(map[string]bool)
		for _, e := range d.entries() {
			if c := e.md().attr("capability"); seen[c] {
				return false
			} else {
				seen[c] = true
			}
		}
		return len(seen) == 4
	}, cl)
}
