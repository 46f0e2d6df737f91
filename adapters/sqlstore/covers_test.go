package sqlstore

import (
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

func TestCovers(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set := db.open(t, nil).mustSet(t, "", nil)
		put := func(key, uri string) {
			t.Helper()
			if err := set.Put(t.Context(), resourcesync.Resource{Key: key, URI: uri}); err != nil {
				t.Fatal(err)
			}
		}
		put("1", "https://example.org/caf%c3%a9?a=%41")
		put("2", "https://example.org")
		put("3", "urn:isbn:0451450523")
		put("4", "https://example.org/moved")
		put("4", "https://example.org/here")
		put("5", "https://example.org/deleted")
		if err := set.Delete(t.Context(), "5"); err != nil {
			t.Fatal(err)
		}
		for uri, want := range map[string]bool{
			"/caf%C3%A9?a=%41":                      true, // the path is decoded
			"/caf%C3%A9?a=A":                        false,
			"/caf%C3%A9":                            false,
			"https://other.example/caf\u00e9?a=%41": true,
			"/":                                     true,
			"urn:isbn:0451450523":                   false, // no request leads there
			"/moved":                                false,
			"/here":                                 true,
			"/deleted":                              false,
		} {
			if got := covers(t, set, uri); got != want {
				t.Errorf("%s: %t, expected %t", uri, got, want)
			}
		}
	})
}
