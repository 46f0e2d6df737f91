package hub

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/client"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/logtest"
)

// FuzzForm sends forms. An accepted request must match the form, and a request to its
// callback must reach the host that was checked.
func FuzzForm(f *testing.F) {
	plain := url.Values{"hub.mode": {"subscribe"}, "hub.topic": {testTopic}, "hub.callback": {"https://example.net/inbox?a=b"}}.Encode()
	for _, s := range []string{plain, plain + "&hub.secret=x&hub.lease_seconds=600", plain + "&hub.mode=subscribe", plain + ";a=b", "hub.mode=publish&hub.url=http://[::1]/", "%zz"} {
		f.Add(s)
	}
	for _, callback := range hostile {
		f.Add(url.Values{"hub.mode": {"unsubscribe"}, "hub.topic": {testTopic}, "hub.callback": {callback}}.Encode())
	}
	f.Fuzz(func(t *testing.T, body string) {
		store := pushlog.NewMemory()
		h, err := New(testHub, logtest.Seal(store), nil)
		if err != nil {
			t.Fatal(err)
		}
		h.Register(testTopic)
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		kept, err := store.ClaimRequests(t.Context(), "fuzz", 10)
		if err != nil {
			t.Fatal(err)
		}
		if w.Code != http.StatusAccepted {
			if len(kept) != 0 || w.Code < 400 || w.Code > 499 {
				t.Fatalf("status %d, and %d requests were kept", w.Code, len(kept))
			}
			return
		}
		if len(kept) != 1 {
			t.Fatalf("%d requests were kept", len(kept))
		}
		form, err := url.ParseQuery(body)
		if err != nil {
			t.Fatal(err)
		}
		got := kept[0]
		if got.Topic != testTopic || got.Callback != form.Get("hub.callback") || got.End != (form.Get("hub.mode") == "unsubscribe") || len(got.Secret) >= 200 {
			t.Fatalf("kept %+v", got)
		}
		if !got.End && (got.Lease < 300*time.Second || got.Lease > 2_678_400*time.Second) {
			t.Fatalf("a lease of %v", got.Lease)
		}
		asked, err := http.NewRequest(http.MethodGet, got.Callback+"?hub.mode=subscribe", nil)
		if err != nil {
			t.Fatalf("accepted, but %v", err)
		}
		host := strings.ToLower(asked.URL.Hostname())
		if a, err := netip.ParseAddr(host); err == nil {
			if h.guard.addr(a) != nil {
				t.Fatalf("accepted %v", a)
			}
			host = client.OfAddr(a)
		}
		if got.Host != host {
			t.Fatalf("%s is counted as %s", got.Callback, got.Host)
		}
		// The callback is requested as stored, byte by byte.
		_, rest, _ := strings.Cut(got.Callback, "://")
		if i := strings.IndexByte(rest, '/'); i >= 0 && !strings.Contains(rest[:i], "?") && asked.URL.RequestURI() != rest[i:]+"?hub.mode=subscribe" {
			t.Fatalf("%s is sent as %s", got.Callback, asked.URL.RequestURI())
		}
	})
}
