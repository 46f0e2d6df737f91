package destination_test

import (
	"testing"

	"github.com/resourcesync-go/resourcesync/destination"
)

// TestUnverifiable has resources whose entries cannot show a later change. Each comparison requests
// them: conditionally, or in full and counted if the server has no validators.
func TestUnverifiable(t *testing.T) {
	for name, test := range map[string]struct {
		list  string
		date  string // of the answers at the first Sync, if not now
		plain bool   // the answers have no validators

		asked, unverifiable int64 // by a later Sync, without a change
	}{
		"nothing but URIs":                        {list: resourcesAt("2013-01-03T09:00:00Z", "listed a", "listed b"), asked: 2},
		"nothing but URIs, and no validators":     {list: resourcesAt("2013-01-03T09:00:00Z", "listed a", "listed b"), plain: true, asked: 2, unverifiable: 2},
		"lengths, and no validators":              {list: resourcesAt("2013-01-03T09:00:00Z", `listed a length="1"`, `listed b length="1"`), plain: true, asked: 2, unverifiable: 2},
		"the day of the request":                  {list: resourcesAt("2013-01-03T09:00:00Z", "listed a =2013-01-03", "listed b =2013-01-02"), date: "Thu, 03 Jan 2013 10:00:00 GMT", asked: 1},
		"the day of the request, no validators":   {list: resourcesAt("2013-01-03T09:00:00Z", "listed a =2013-01-03", "listed b =2013-01-02"), date: "Thu, 03 Jan 2013 10:00:00 GMT", plain: true, asked: 1, unverifiable: 1},
		"earlier times, and no validators":        {list: resourcesAt("2013-01-03T09:00:00Z", "listed a =2013-01-02T13:00:00Z", "listed b =2013-01-02T14:00:00Z"), plain: true},
		"lengths and hashes, and no validators":   {list: resourcesAt("2013-01-03T09:00:00Z", `listed a hash="md5:0cc175b9c0f1b6a831c399e269772661"`, `listed b hash="md5:92eb5ffee6ae2fec3ad71c777531578f"`), plain: true},
		"a deviation that hides times, validated": {list: resourcesAt("", "listed a", "listed b =2013-01-02T14:00:00Z"), asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			pages := history(map[string]string{"/rl.xml": test.list})
			pages["/cl.xml"] = openURLSet + `<rs:md capability="capabilitylist"/><url><loc>BASE/rl.xml</loc><rs:md capability="resourcelist"/></url></urlset>`
			s, url := newDated(t, pages)
			s.set(test.date, test.plain)
			m := openMirror(t, url, t.TempDir(), &destination.Options{MaxDelete: 1})
			if r := m.sync(t); r.Created != 2 || r.Unverifiable != 0 {
				t.Fatalf("the first Sync: %+v", r)
			}
			for range 2 {
				s.taken()
				r := m.sync(t)
				if requests, _ := s.taken(); int64(len(requests)) != test.asked || r.Unverifiable != test.unverifiable || r.Updated != 0 {
					t.Errorf("requests %v, %+v", requests, r)
				}
			}
			// A change that no list shows is found in each case in which the resource
			// is requested.
			if test.asked == 0 {
				return
			}
			s.mu.Lock()
			s.pages["/a"] = "A"
			s.mu.Unlock()
			m.sync(t)
			if got := files(t, m.dir)["a"]; got != "A" {
				t.Errorf("the copy of a is %q", got)
			}
		})
	}
}
