package check_test

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// requested returns the documents and packages of a site that have been requested, and forgets
// them.
func (s *site) requested() (paths []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path := range s.requests {
		if strings.HasPrefix(path, "/x-") {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	clear(s.requests)
	return paths
}

// TestReadAlike has lists that are divided in ways which the specification does not have. The
// check follows them to the same documents as a Destination. Those in question begin with "/x-".
func TestReadAlike(t *testing.T) {
	needs.Time(t)
	next := func(href string) string { return `<rs:ln rel="next" href="` + href + `"/>` + "\n" }
	page := func(s *site, path, links string) {
		s.add(path, urlset+up+links+ofList1+"</urlset>")
	}
	dumped := func(entries string) func(*testing.T, *site) {
		return func(_ *testing.T, s *site) {
			s.files[dump].body = urlset + up + `<rs:md capability="resourcedump" at="2025-01-31T00:00:00Z"/>` + entries + "</urlset>"
			s.packs["/x-1.zip"] = s.packs[dumpZIP]
		}
	}
	const (
		dumpPart = `<url><loc>{base}/x-part.xml</loc><rs:md capability="resourcedump"/></url>`
		dumpPack = `<url><loc>{base}/x-1.zip</loc><rs:md capability="resourcedump" type="application/zip"/></url>`
	)
	var other *site // of another host
	for name, test := range map[string]struct {
		plant func(*testing.T, *site)
		want  []string // the rules
		read  []string // the paths
	}{
		"an index as a urlset": {func(t *testing.T, s *site) {
			indexAsURLSet(t, s)
			s.files["/x-2.xml"] = s.files[changes2]
			s.edit(t, changes, changes2, "/x-2.xml")
		}, []string{"index-as-urlset"}, []string{"/x-2.xml"}},
		"an index as a urlset, of an older word": {func(t *testing.T, s *site) {
			indexAsURLSet(t, s)
			s.files["/x-2.xml"] = s.files[changes2]
			s.edit(t, changes, changes2, "/x-2.xml")
			s.edit(t, changes, `capability="changelist"`, `capability="ChangeListIndex"`)
		}, []string{"capability-unknown", "index-as-urlset"}, []string{"/x-2.xml"}},
		"a change with a capability": {func(t *testing.T, s *site) {
			s.edit(t, changes2, `</urlset>`, `<url><loc>{base}/x-d.xml</loc><rs:md capability="changelist" change="deleted" datetime="2025-02-05T00:00:00Z"/></url></urlset>`)
		}, nil, nil},
		"packages with a capability": {dumped(dumpPack), nil, []string{"/x-1.zip"}},
		"packages beside a part": {func(t *testing.T, s *site) {
			dumped(dumpPart+dumpPack)(t, s)
			s.add("/x-part.xml", urlset+up+`<rs:md capability="resourcedump" at="2025-01-31T00:00:00Z"/><url><loc>{base}/x-2.zip</loc></url></urlset>`)
			s.packs["/x-2.zip"] = s.packs[dumpZIP]
		}, []string{"index-as-urlset"}, []string{"/x-1.zip", "/x-2.zip", "/x-part.xml"}},
		"pages": {func(t *testing.T, s *site) {
			s.edit(t, list2, up, up+next("{base}/x-3.xml"))
			page(s, "/x-3.xml", next("{base}/x-4.xml"))
			page(s, "/x-4.xml", "")
		}, []string{"list-paging"}, []string{"/x-3.xml", "/x-4.xml"}},
		"two next pages": {func(t *testing.T, s *site) {
			s.edit(t, list2, up, up+next("{base}/x-3.xml")+next("{base}/x-4.xml"))
			page(s, "/x-3.xml", "")
			page(s, "/x-4.xml", "")
		}, []string{"list-paging"}, []string{"/x-3.xml"}},
		"a relative next page": {func(t *testing.T, s *site) {
			s.edit(t, list2, up, up+next("x-3.xml"))
			page(s, "/x-3.xml", "")
		}, []string{"list-paging", "uri-syntax"}, []string{"/x-3.xml"}},
		"a next page that is no URL":  {edit(list2, up, up+next("urn:isbn:0451450523")), []string{"list-paging"}, nil},
		"a next page at another host": {func(t *testing.T, s *site) { s.edit(t, list2, up, up+next(other.URL+"/x-3.xml")) }, []string{"list-paging"}, nil},
		"Source Descriptions of Source Descriptions": {func(t *testing.T, s *site) {
			s.edit(t, wellKnown, caps, "/x-1.xml")
			for i := range 6 {
				s.add(fmt.Sprintf("/x-%d.xml", i+1), strings.ReplaceAll(s.files[wellKnown].body, "/x-1.xml", fmt.Sprintf("/x-%d.xml", i+2)))
			}
		}, []string{"discovery-endless", "part-capability"}, []string{"/x-1.xml", "/x-2.xml", "/x-3.xml", "/x-4.xml"}},
		"a next page at another host that the index lists": {func(t *testing.T, s *site) {
			other.add("/x-2.xml", s.fill(s.text(list2)))
			s.edit(t, list, "{base}"+list2, other.URL+"/x-2.xml")
			s.edit(t, list1, up, up+next(other.URL+"/x-2.xml"))
		}, []string{"mixed-hosts"}, []string{"/x-2.xml"}},
		"a next page with another use": {edit(list2, up, up+`<rs:ln rel="NEXT" href="{base}/x-3.xml"/>`), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := correct(t)
			other = newSite(t)
			other.URL = strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
			test.plant(t, s)
			r, counts := s.judge(t, nil)
			if found := rulesOf(counts); !slices.Equal(found, test.want) {
				t.Errorf("found %q, want %q\n%s", found, test.want, describe(r))
			}
			if got := append(s.requested(), other.requested()...); !slices.Equal(got, test.read) {
				t.Errorf("the check has read %q, want %q", got, test.read)
			}
			for _, dumps := range []destination.Dumps{destination.DumpsAuto, destination.DumpsAlways} {
				mirrored(t, s, dumps)
			}
			if got := append(s.requested(), other.requested()...); !slices.Equal(got, test.read) {
				t.Errorf("the Destination has read %q, want %q", got, test.read)
			}
		})
	}
}

// mirrored copies a site.
func mirrored(t *testing.T, s *site, dumps destination.Dumps) {
	t.Helper()
	folder, err := destination.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	d, err := destination.New(s.URL, folder, &destination.Options{Dumps: dumps, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Sync(t.Context()); err != nil {
		t.Log(err)
	}
}
