package rshttp

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
)

// TestOpenWindow: the page of a Capability List says when the open Change List ends: at the
// boundary after its first change, regardless of how long there was no change before.
func TestOpenWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins at midnight, 1 January 2000
		set := full{memory.New(nil)}
		src, err := New("https://example.org/rs/", []Set{{Provider: set}}, &Options{Division: Division{PageSize: 3}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		check := func(want string) {
			t.Helper()
			w := httptest.NewRecorder()
			src.ServeHTTP(w, httptest.NewRequest("GET", "/rs/capabilitylist.html", nil))
			if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%v: %d, without %q", time.Now(), w.Code, want)
			}
		}
		time.Sleep(time.Hour)
		set.put(t, "a")
		check("One list, open since 1 Jan 2000, 00:00:00 UTC.")
		for _, key := range []string{"b", "c", "d"} {
			time.Sleep(time.Hour)
			set.put(t, key)
		}
		check("The next begins with the first change after 2 Jan 2000, 00:00:00 UTC.")
		time.Sleep(3*24*time.Hour + time.Hour)
		check("The next change begins a new list.")
		set.put(t, "e")
		check("The next begins with the first change after 5 Jan 2000, 00:00:00 UTC.")
	})
}
