package simulation

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/destination/internal/localname"
)

// The model of a foreign Source that moves writes its documents with Site, which the current URL
// replaces. All URLs have the same length.

// site returns the URL of the Source after the first n entries of the log. The caller holds the lock.
func (w *World) site(n int) string {
	moves := 0
	for _, e := range w.log[:n] {
		if e.verb == "relocate" {
			moves++
		}
	}
	if moves == 0 {
		return Site
	}
	return fmt.Sprintf("http://moved%d.example/", moves%10)
}

// present returns text with Site replaced by the current URL of the Source. The caller holds the
// lock.
func (w *World) present(text string) string {
	return strings.ReplaceAll(text, Site, w.site(len(w.log)))
}

// url returns the current URL of the Source.
func (w *World) url() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.site(len(w.log))
}

// has reports whether a resource has one of the URIs, at any current or former URL of
// the Source.
func (w *World) has(uris []string, name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n := range len(w.log) + 1 {
		if slices.Contains(uris, w.site(n)+name) {
			return true
		}
	}
	return false
}

// places returns the names that the copy of a resource can have. A copy keeps the name that it got
// at a former URL.
func (w *World) places(name string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	places := []string{localname.Of(Site+name, Host)}
	for n := range len(w.log) + 1 {
		uri := w.site(n) + name
		places = append(places, localname.Of(uri, Host), localname.Derived(uri))
	}
	return slices.Compact(places)
}

// isFormer reports whether url is below a former URL of the Source.
func (w *World) isFormer(url string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n := range w.log {
		if strings.HasPrefix(url, w.site(n)) && w.site(n) != w.site(len(w.log)) {
			return true
		}
	}
	return false
}

// answerFormer answers a request to a former URL of the Source: with 404, or with a redirect.
func (n *network) answerFormer(r *http.Request) *http.Response {
	rec := httptest.NewRecorder()
	switch n.roll("former", 0).IntN(3) {
	case 0:
		http.NotFound(rec, r)
	case 1:
		http.Error(rec, "gone", http.StatusGone)
	case 2:
		rec.Header().Set("Location", n.url()+strings.TrimPrefix(r.URL.Path, "/"))
		rec.WriteHeader(http.StatusMovedPermanently)
	}
	res := rec.Result()
	res.Request = r
	return res
}

// relocated returns the moment of the last move, or the beginning. The caller holds the lock.
func (w *World) relocated() time.Time {
	for _, e := range slices.Backward(w.log) {
		if e.verb == "relocate" {
			return e.when
		}
	}
	return w.began
}

// judgeRefusal judges a run that takes the Source at its new URL for another one: the Source must
// list nothing of the copy, unless a fault has changed what it lists. It reports whether the
// refusal is right.
//
// A Source that moves again during the run redirects the URL that the user has named to one that the user has not
// named, and lists resources there. No Destination can tell it from another Source to which the URL redirects, so
// it is right to refuse it. The next run, with the new URL, must continue.
func (w *World) judgeRefusal(p *process, err error) (refused bool) {
	if err == nil || !strings.Contains(err.Error(), "the same Source") && !strings.Contains(err.Error(), "is the Source of this copy") {
		return false
	}
	files := w.files()
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.log)
	if w.isFaulty(p.number) || p.source != w.site(n) {
		return true
	}
	f := &foreign{w}
	for set := range w.sets() {
		shown, _ := f.snapshot(n)
		for _, v := range f.members(set, shown) {
			if _, ok := files[localname.Of(v.uri(), Host)]; ok && w.user[localname.Of(v.uri(), Host)] == "" && w.place(set, n) >= 0 {
				w.failures = append(w.failures, Failure{"moved", fmt.Sprintf("the Source lists %s, which the copy has, but the run takes it for another Source", v.name)})
				return false
			}
		}
	}
	return true
}
