package check_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/check"
)

// A scriptedHub verifies requests with what edit leaves of the parameters.
type scriptedHub struct {
	t    testing.TB
	edit func(mode string, q url.Values) bool // false sends nothing

	mu     sync.Mutex
	topics []string // modes and topics that the callback has confirmed
	sent   sync.WaitGroup
}

func (h *scriptedHub) serve(w http.ResponseWriter, r *http.Request, _ int) {
	if r.PostFormValue("hub.callback") == "" {
		http.Error(w, "a subscription needs hub.callback", http.StatusBadRequest)
		return
	}
	mode, topic := r.PostFormValue("hub.mode"), r.PostFormValue("hub.topic")
	q := url.Values{"hub.mode": {mode}, "hub.topic": {topic}, "hub.challenge": {"<&>" + mode}}
	if mode == "subscribe" {
		q.Set("hub.lease_seconds", r.PostFormValue("hub.lease_seconds"))
	}
	callback := r.PostFormValue("hub.callback")
	w.WriteHeader(http.StatusAccepted)
	if h.edit != nil && !h.edit(mode, q) {
		return
	}
	h.sent.Go(func() {
		// One verification at a time: the next request may be here before this one has been answered.
		h.mu.Lock()
		defer h.mu.Unlock()
		res, err := http.Get(callback + "?" + q.Encode())
		if err != nil {
			h.t.Error(err)
			return
		}
		defer res.Body.Close()
		if text, _ := io.ReadAll(res.Body); res.StatusCode == http.StatusOK && string(text) == q.Get("hub.challenge") {
			h.topics = append(h.topics, mode+" "+topic)
		}
	})
}

// newCallback serves a Callback.
func newCallback(t testing.TB) *check.Callback {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	c, err := check.NewCallback("http://" + server.Listener.Addr().String() + "/callback")
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = c
	server.Start()
	t.Cleanup(server.Close)
	return c
}

// TestSubscription has a correct hub and some that are not. Whatever has been subscribed is
// cancelled.
func TestSubscription(t *testing.T) {
	refuse := func(mode string) func(w http.ResponseWriter, r *http.Request, n int) {
		return func(w http.ResponseWriter, r *http.Request, n int) {
			if r.PostFormValue("hub.mode") == mode {
				http.Error(w, "not here", http.StatusForbidden)
				return
			}
			(&scriptedHub{t: t}).serve(w, r, n)
		}
	}
	set := func(of, name, value string) func(string, url.Values) bool {
		return func(mode string, q url.Values) bool {
			if mode == of {
				q.Set(name, value)
			}
			return true
		}
	}
	both := []string{"subscribe", "unsubscribe"}
	for name, test := range map[string]struct {
		serve     func(w http.ResponseWriter, r *http.Request, n int)
		edit      func(mode string, q url.Values) bool
		want      string   // the rule
		confirmed []string // the modes that the callback has confirmed
	}{
		"correct":                    {confirmed: both},
		"forbidden":                  {serve: refuse("subscribe"), want: "hub-subscription"},
		"200":                        {serve: func(w http.ResponseWriter, r *http.Request, _ int) { w.WriteHeader(hubStatus(r, http.StatusOK)) }, want: "hub-subscription"},
		"no end":                     {serve: refuse("unsubscribe"), want: "hub-subscription"},
		"silent":                     {edit: func(string, url.Values) bool { return false }, want: "hub-verification"},
		"silent at the end":          {edit: func(mode string, _ url.Values) bool { return mode == "subscribe" }, want: "hub-verification", confirmed: both[:1]},
		"denied":                     {edit: set("subscribe", "hub.mode", "denied"), want: "hub-verification"},
		"other mode":                 {edit: set("unsubscribe", "hub.mode", "subscribe"), want: "hub-verification", confirmed: both[:1]},
		"other topic":                {edit: set("subscribe", "hub.topic", "https://example.org/"), want: "hub-verification"},
		"no challenge":               {edit: set("subscribe", "hub.challenge", ""), want: "hub-verification"},
		"endless challenge":          {edit: set("subscribe", "hub.challenge", strings.Repeat("x", 5000)), want: "hub-verification"},
		"no lease":                   {edit: set("subscribe", "hub.lease_seconds", ""), want: "hub-verification", confirmed: both},
		"lease that is not a number": {edit: set("subscribe", "hub.lease_seconds", "5m"), want: "hub-verification", confirmed: both},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := correct(t)
			h := &scriptedHub{t: t, edit: test.edit}
			if s.files[hub].serve = h.serve; test.serve != nil {
				s.files[hub].serve = test.serve
			}
			o := options()
			o.Callback = newCallback(t)
			if strings.HasPrefix(name, "silent") {
				o.Callback.Wait = 100 * time.Millisecond
			}
			r, counts := s.judge(t, o)
			var want []string
			if test.want != "" {
				want = []string{test.want}
			}
			if found := rulesOf(counts); !slices.Equal(found, want) {
				t.Errorf("found %v, want %v:\n%s", found, want, describe(r))
			}
			h.sent.Wait()
			var confirmed []string
			for _, mode := range test.confirmed {
				confirmed = append(confirmed, mode+" "+s.URL+topic)
			}
			if !slices.Equal(h.topics, confirmed) {
				t.Errorf("confirmed: %q, want %q", h.topics, confirmed)
			}
		})
	}
}

// hubStatus returns status for a subscription with a callback.
func hubStatus(r *http.Request, status int) int {
	if r.PostFormValue("hub.callback") == "" {
		return http.StatusBadRequest
	}
	return status
}

// TestCallback has requests that nobody expects.
func TestCallback(t *testing.T) {
	c, err := check.NewCallback("https://monitor.example.org/callback/")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		method string
		status int
	}{{http.MethodPost, http.StatusGone}, {http.MethodGet, http.StatusNotFound}, {http.MethodPut, http.StatusMethodNotAllowed}} {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest(test.method, "https://monitor.example.org/callback/x?hub.mode=subscribe&hub.challenge=1", http.NoBody))
		if w.Code != test.status {
			t.Errorf("%s: %d, want %d", test.method, w.Code, test.status)
		}
	}
	for _, uri := range []string{"", "monitor.example.org", "ftp://example.org/", "https://example.org/?a=b"} {
		if _, err := check.NewCallback(uri); err == nil {
			t.Errorf("a Callback at %q", uri)
		}
	}
}
