package hub

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// The later request counts.
func TestWH15_LaterRequestCounts(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	f.accepted(s.URL, "hub.secret", "one")
	f.accepted(s.URL, "hub.secret", "two", "hub.lease_seconds", "400")
	subs := f.subscriptions()
	if len(subs) != 1 || string(subs[0].Secret) != "two" || time.Until(subs[0].Expires) > 401*time.Second {
		t.Errorf("subscriptions %+v", subs)
	}
	f.accepted(s.URL)
	if subs := f.subscriptions(); len(subs) != 1 || subs[0].Secret != nil {
		t.Errorf("without a secret: %+v", subs)
	}
}

// The later request counts even if the earlier one is confirmed after it.
func TestWH15_LateConfirmation(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	release, asked := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.answers(func(w http.ResponseWriter, r *http.Request) {
		first := false
		once.Do(func() { first = true })
		if first {
			close(asked)
			<-release
		}
		echo(w, r)
	})
	f.post(s.URL, "hub.secret", "early")
	<-asked
	f.accepted(s.URL, "hub.secret", "late")
	close(release)
	within(t, "two requests", func() bool { return len(s.requests()) == 2 })
	f.accepted(s.URL + "/other") // is worked on after what came before it
	for _, got := range f.subscriptions() {
		if got.Callback == s.URL && string(got.Secret) != "late" {
			t.Errorf("the secret is %q", got.Secret)
		}
	}
}

// A request in the name of another has no effect before it is verified.
func TestWH16_V9_NothingBeforeVerification(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	f.accepted(s.URL, "hub.secret", "mine", "hub.lease_seconds", "4000")
	before := f.subscriptions()

	release, asked := make(chan struct{}), make(chan struct{})
	s.answers(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-release
		echo(w, r)
	})
	defer close(release)
	for _, params := range [][]string{{"hub.secret", "yours", "hub.lease_seconds", "300"}, {"hub.mode", "unsubscribe"}} {
		if status, text := f.post(s.URL, params...); status != 202 {
			t.Fatal(status, text)
		}
		<-asked
		if now := f.subscriptions(); fmt.Sprint(now) != fmt.Sprint(before) {
			t.Errorf("%v: before %+v, now %+v", params, before, now)
		}
	}
}

// Any response but 2xx with the challenge changes nothing, and is not repeated (V6).
// WH34 is about the status, WH35 about the body.
func TestWH17_WH34_WH35_RS19_FailedVerification(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(code)
			echo(w, r)
		}
	}
	body := func(format string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, format, r.URL.Query().Get("hub.challenge"))
		}
	}
	other := newSubscriber(t)
	for name, answer := range map[string]http.HandlerFunc{
		"WH34 300": status(300), "WH34 304": status(304), "WH34 400": status(400), "WH34 401": status(401), "WH34 404": status(404),
		"WH34 410": status(410), "WH34 429": status(429), "WH34 500": status(500), "WH34 503": status(503), "WH35 204": status(204),
		"WH34 V5 redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/?"+r.URL.RawQuery, http.StatusTemporaryRedirect)
		},
		"WH34 V5 found": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", other.URL+"/?"+r.URL.RawQuery)
			w.WriteHeader(http.StatusFound)
			echo(w, r)
		},
		"WH34 V5 redirect to nowhere": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://[nowhere?"+testQuery)
			w.WriteHeader(http.StatusFound)
			echo(w, r)
		},
		"WH35 empty":   body("%.0s"),
		"WH35 newline": body("%s\n"),
		"WH35 space":   body(" %s"),
		"WH35 BOM":     body("\ufeff%s"),
		"WH35 JSON":    body("%q"),
		"WH35 part of": body("ok: %s!"),
		"WH35 short":   func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.FormValue("hub.challenge")[1:]) },
		"WH35 lower case": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, strings.ToLower(r.FormValue("hub.challenge")))
		},
		"WH35 cut off": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			echo(w, r)
		},
		"WH35 gzip": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "\x1f\x8b")
		},
		"WH35 endless": func(w http.ResponseWriter, r *http.Request) {
			for {
				if _, err := fmt.Fprint(w, r.URL.Query().Get("hub.challenge")); err != nil {
					return
				}
			}
		},
		"RS19 broken off": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s := newFront(t, Options{}), newSubscriber(t)
			callback := s.URL + "/?" + testQuery
			f.accepted(callback, "hub.secret", testSecret, "hub.lease_seconds", "4000")
			before := f.subscriptions()
			s.answers(answer)
			f.accepted(callback, "hub.secret", "other", "hub.lease_seconds", "300")
			f.accepted(callback, "hub.mode", "unsubscribe")
			f.accepted(s.URL + "/new")
			if now := f.subscriptions(); fmt.Sprint(now) != fmt.Sprint(before) {
				t.Errorf("before %+v, now %+v", before, now)
			}
			if got := f.requestTotals.Load().Unverified; got != 3 {
				t.Errorf("%d were not verified", got)
			}
			// A fourth request. None of the others is repeated.
			f.accepted(callback, "hub.mode", "unsubscribe")
			if n := len(s.challenges(t)); n != 5 {
				t.Errorf("asked %d times for 5 requests", n)
			}
		})
	}
	t.Cleanup(func() {
		if got := other.requests(); len(got) != 0 {
			t.Errorf("a redirect was followed: %q", got)
		}
	})
}

// The callback is not changed by a byte, and parameters are appended to its query.
func TestWH20_WH21_WH53_QueryKept(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	for _, path := range []string{
		"", "/", "/inbox", "/?", "/?a=b", "/?a=b&", "/?b=2&a=1&b=1", "/?a=%2F%2f+%20x", "/?x;y=z", "/?q='()*!~$,@:/?",
		"/?hub.mode=mine&hub.challenge=mine&hub.topic=mine&hub.lease_seconds=1", "/a%2Fb/%7e/~/..%2f/./x//y", "//double/[x]?[]=1", "/%C3%A9?=&=&&",
	} {
		f.accepted(s.URL + path)
		joint := "?"
		if strings.Contains(path, "?") {
			joint = "&"
		}
		want := path + joint + "hub.mode=subscribe&hub.topic=" + url.QueryEscape(testTopic) + "&hub.challenge="
		if !strings.HasPrefix(want, "/") {
			want = "/" + want // nothing else can be asked for
		}
		if asked := s.requests(); !strings.HasPrefix(asked[len(asked)-1], want) {
			t.Errorf("%s: asked %s", path, asked[len(asked)-1])
		}
		if !slices.ContainsFunc(f.subscriptions(), func(s2 pushlog.Subscription) bool { return s2.Callback == s.URL+path }) {
			t.Errorf("%s: no subscription of exactly this callback", path)
		}
	}
}

// The response is sent before the subscriber is asked, and does not depend on the
// result.
func TestWH28_AnswerDoesNotWait(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	release := make(chan struct{})
	s.answers(func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	status, text := f.post(s.URL + "/hangs")
	other, otherText := f.post("http://nobody.invalid/")
	if status != 202 || other != 202 || text != otherText {
		t.Errorf("%d %s, %d %s", status, text, other, otherText)
	}
	within(t, "a subscriber that is asked", func() bool { return len(s.requests()) == 1 })
}

// Checks the request that verifies intent.
func TestWH30_WH32_WH33_WH51_Verification(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	before := time.Now()
	f.accepted(s.URL)
	got := s.last(t)
	if got.Get("hub.mode") != "subscribe" || got.Get("hub.topic") != testTopic || got.Get("hub.lease_seconds") != "864000" || len(got) != 4 {
		t.Errorf("asked %v", got)
	}
	expires := f.subscriptions()[0].Expires
	if expires.Before(before.Add(864_000*time.Second)) || expires.After(time.Now().Add(864_000*time.Second)) {
		t.Errorf("expires at %v", expires)
	}
	f.accepted(s.URL, "hub.lease_seconds", "5")
	if got := s.last(t).Get("hub.lease_seconds"); got != "300" {
		t.Errorf("a lease of %s was granted", got)
	}
	f.accepted(s.URL, "hub.mode", "unsubscribe")
	if got := s.last(t); got.Get("hub.mode") != "unsubscribe" || got.Get("hub.topic") != testTopic || got.Get("hub.challenge") == "" || len(got) != 3 {
		t.Errorf("asked %v", got)
	}
}

func TestWH36_RS19_Any2xx(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	for i, code := range []int{200, 201, 202, 203, 206, 226, 299} {
		s.answers(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/octet-stream")
			w.WriteHeader(code)
			echo(w, r)
		})
		f.accepted(s.URL + "/" + strconv.Itoa(code))
		if n := len(f.subscriptions()); n != i+1 {
			t.Errorf("%d: %d subscriptions", code, n)
		}
	}
}

// At least 128 bits, of letters and digits only (V25), and unique.
func TestWH52_V25_Challenges(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	seen := map[string]bool{}
	for range 20 {
		f.accepted(s.URL)
		c := s.last(t).Get("hub.challenge")
		if seen[c] || len(c) < 26 || strings.Trim(c, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
			t.Errorf("challenge %q", c)
		}
		seen[c] = true
	}
}

// V15: a hanging host delays only itself.
func TestV15_HangingHosts(t *testing.T) {
	ns := newNameServer(t, map[string][]string{"slow.example": {"127.0.0.1"}, "quick.example": {"127.0.0.1"}})
	f, slow, quick := newFront(t, Options{Resolver: ns.resolver()}), newSubscriber(t), newSubscriber(t)
	release := make(chan struct{})
	slow.answers(func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	for i := range DefaultLimits.HostPending {
		if status, text := f.post(fmt.Sprintf("%s/%d", at("slow.example", slow.URL), i)); status != 202 {
			t.Fatal(status, text)
		}
	}
	f.accepted(at("quick.example", quick.URL))
	if len(f.subscriptions()) != 1 {
		t.Error("the other one was not verified")
	}
	if n := len(slow.requests()); n > verifyingPerHost {
		t.Errorf("%d requests to one host at a time", n)
	}
}
