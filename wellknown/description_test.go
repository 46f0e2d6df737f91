package wellknown

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Example 12 of the core specification.
func TestDescription(t *testing.T) {
	document, parts, err := Description([]Set{
		{"http://example.com/capabilitylist1.xml", "http://example.com/info_about_set1_of_resources.xml"},
		{"http://example.com/capabilitylist2.xml", "http://example.com/info_about_set2_of_resources.xml"},
		{CapabilityList: "http://example.com/capabilitylist3.xml?a&b"},
	}, &Options{DescribedBy: "http://example.com/info_about_source.xml"})
	if err != nil {
		t.Fatal(err)
	}
	want := `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="describedby" href="http://example.com/info_about_source.xml"/>
<rs:md capability="description"/>
<url>
<loc>http://example.com/capabilitylist1.xml</loc>
<rs:md capability="capabilitylist"/>
<rs:ln rel="describedby" href="http://example.com/info_about_set1_of_resources.xml"/>
</url>
<url>
<loc>http://example.com/capabilitylist2.xml</loc>
<rs:md capability="capabilitylist"/>
<rs:ln rel="describedby" href="http://example.com/info_about_set2_of_resources.xml"/>
</url>
<url>
<loc>http://example.com/capabilitylist3.xml?a&amp;b</loc>
<rs:md capability="capabilitylist"/>
</url>
</urlset>
`
	if string(document) != want {
		t.Errorf("got\n%s\nwant\n%s", document, want)
	}
	if parts != nil {
		t.Errorf("%d parts", len(parts))
	}
}

func TestDescriptionOfNothing(t *testing.T) {
	document, parts, err := Description(nil, nil)
	want := `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:md capability="description"/>
</urlset>
`
	if err != nil || string(document) != want || parts != nil {
		t.Errorf("got\n%s%d parts, %v\nwant\n%s", document, len(parts), err, want)
	}
}

func numbered(n int) []Set {
	sets := make([]Set, n)
	for i := range sets {
		sets[i].CapabilityList = fmt.Sprintf("https://example.org/%d/capabilitylist.xml", i)
	}
	return sets
}

func partURI(k int) string { return fmt.Sprintf("https://example.org/description/%d.xml", k) }

const wellKnown = "https://example.org" + Path

func TestDescriptionIndex(t *testing.T) {
	opts := &Options{DescribedBy: "https://example.org/about", URI: wellKnown, Part: partURI}
	if _, parts, err := Description(numbered(rsxml.MaxEntries), opts); err != nil || parts != nil {
		t.Fatalf("%d sets: %d parts, %v; want one document", rsxml.MaxEntries, len(parts), err)
	}

	document, parts, err := Description(numbered(rsxml.MaxEntries+1), opts)
	if err != nil {
		t.Fatal(err)
	}
	wantIndex := `<?xml version="1.0" encoding="UTF-8"?>
<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="describedby" href="https://example.org/about"/>
<rs:md capability="description"/>
<sitemap>
<loc>https://example.org/description/0.xml</loc>
<rs:md capability="description"/>
</sitemap>
<sitemap>
<loc>https://example.org/description/1.xml</loc>
<rs:md capability="description"/>
</sitemap>
</sitemapindex>
`
	if string(document) != wantIndex {
		t.Errorf("index\n%s\nwant\n%s", document, wantIndex)
	}
	if len(parts) != 2 {
		t.Fatalf("%d parts, want 2", len(parts))
	}
	wantPart := `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="describedby" href="https://example.org/about"/>
<rs:ln rel="index" href="https://example.org/.well-known/resourcesync"/>
<rs:md capability="description"/>
<url>
<loc>https://example.org/50000/capabilitylist.xml</loc>
<rs:md capability="capabilitylist"/>
</url>
</urlset>
`
	if string(parts[1]) != wantPart {
		t.Errorf("part 1\n%s\nwant\n%s", parts[1], wantPart)
	}
	if got := bytes.Count(parts[0], []byte("<url>")); got != rsxml.MaxEntries {
		t.Errorf("part 0 has %d entries, want %d", got, rsxml.MaxEntries)
	}
}

// decoded is what encoding/xml reads from a Source Description or its index.
type decoded struct {
	XMLName xml.Name
	Links   []struct {
		Rel  string `xml:"rel,attr"`
		Href string `xml:"href,attr"`
	} `xml:"http://www.openarchives.org/rs/terms/ ln"`
	URLs []struct {
		Loc  string `xml:"loc"`
		Link struct {
			Href string `xml:"href,attr"`
		} `xml:"http://www.openarchives.org/rs/terms/ ln"`
	} `xml:"url"`
	Sitemaps []struct {
		Loc string `xml:"loc"`
	} `xml:"sitemap"`
}

func decode(t *testing.T, document []byte) (d decoded) {
	t.Helper()
	if err := xml.Unmarshal(document, &d); err != nil {
		t.Fatalf("%v in\n%s", err, document)
	}
	return d
}

// For any limits, every set is in exactly one part, in order; every part is within the
// limits and in the index; and no part could have held another set.
func TestDescriptionDivides(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		sets := numbered(rng.IntN(60))
		for i := range sets {
			sets[i].CapabilityList += strings.Repeat("&", rng.IntN(40))
			if rng.IntN(2) == 0 {
				sets[i].DescribedBy = "https://example.org/about/" + strings.Repeat("x", rng.IntN(100))
			}
		}
		most := limits{entries: 8 + rng.IntN(20), bytes: 1500 + rng.IntN(4000)}
		opts := &Options{URI: wellKnown, Part: partURI}
		document, parts, err := describe(sets, opts, most)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}

		var read []Set
		for k, part := range append(parts, document)[:max(1, len(parts))] {
			d := decode(t, part)
			if d.XMLName.Local != "urlset" || len(part) > most.bytes || len(d.URLs) > most.entries {
				t.Errorf("seed %d: part %d is a %s of %d bytes and %d entries, at most %v", seed, k, d.XMLName.Local, len(part), len(d.URLs), most)
			}
			if len(parts) > 0 && (len(d.Links) != 1 || d.Links[0].Rel != "index" || d.Links[0].Href != wellKnown) {
				t.Errorf("seed %d: part %d has links %v", seed, k, d.Links)
			}
			for _, u := range d.URLs {
				read = append(read, Set{u.Loc, u.Link.Href})
			}
			if k+1 < len(parts) && len(d.URLs) < most.entries {
				next := decode(t, parts[k+1]).URLs[0]
				if room := most.bytes - len(part); room > 500+5*len(next.Loc)+len(next.Link.Href) {
					t.Errorf("seed %d: part %d has room for %d bytes more", seed, k, room)
				}
			}
		}
		if !slices.Equal(read, sets) {
			t.Errorf("seed %d: the parts have %d sets, want %d:\n%v\n%v", seed, len(read), len(sets), read, sets)
		}
		if len(parts) == 0 {
			continue
		}
		index := decode(t, document)
		if index.XMLName.Local != "sitemapindex" || len(index.Sitemaps) != len(parts) || len(index.Links) != 0 {
			t.Errorf("seed %d: the index is a %s of %d entries for %d parts", seed, index.XMLName.Local, len(index.Sitemaps), len(parts))
		}
		for k, s := range index.Sitemaps {
			if s.Loc != partURI(k) {
				t.Errorf("seed %d: entry %d of the index is %s", seed, k, s.Loc)
			}
		}
	}
}

func TestDescriptionErrors(t *testing.T) {
	small := limits{entries: 2, bytes: rsxml.MaxBytes}
	tests := []struct {
		name string
		sets []Set
		opts *Options
		want string // in the error
	}{
		{"no CapabilityList", []Set{{"https://example.org/", ""}, {}}, nil, "CapabilityList of set 1"},
		{"relative CapabilityList", []Set{{"/capabilitylist.xml", ""}}, nil, "CapabilityList of set 0"},
		{"relative DescribedBy", []Set{{"https://example.org/", "about"}}, nil, "DescribedBy of set 0"},
		{"relative DescribedBy of the Source", nil, &Options{DescribedBy: "about"}, "DescribedBy of the Source"},
		{"relative URI", nil, &Options{URI: Path}, "URI of the Source Description"},
		{"nowhere for parts", numbered(3), nil, "set URI and Part"},
		{"no URI for the index", numbered(3), &Options{Part: partURI}, "set URI and Part"},
		{"no URIs for parts", numbered(3), &Options{URI: wellKnown}, "set URI and Part"},
		{"relative URI of a part", numbered(3), &Options{URI: wellKnown, Part: func(k int) string { return fmt.Sprint(k) }}, "part 0"},
		{"more parts than an index holds", numbered(5), &Options{URI: wellKnown, Part: partURI}, "do not fit into one Source Description Index"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			document, parts, err := describe(test.sets, test.opts, small)
			if err == nil || !strings.Contains(err.Error(), test.want) || document != nil || parts != nil {
				t.Errorf("got %q, %d parts, %v; want an error of %q", document, len(parts), err, test.want)
			}
		})
	}
}
