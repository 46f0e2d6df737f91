package sitemap

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync/linkheader"
)

const (
	// restRelation is the relation type with which WordPress announces its REST interface.
	restRelation = "https://api.w.org/"

	// discoverEvery is the interval between requests for the announcement and the types of
	// posts.
	discoverEvery = time.Hour

	// lateness is the longest time for which a post is expected to be invisible after the time
	// of its modification: WordPress dates a post before it stores it.
	lateness = time.Minute
)

// A wordpress requests the posts that were modified since its last request, from the REST
// interface of WordPress, if the site announces one. They are hints about pages that are listed
// or withheld.
type wordpress struct {
	*Site
	lists atomic.Int64 // the number of types that are requested

	turn    chan struct{} // has an element during a poll, which may use the rest
	asked   time.Time     // when the interface was last discovered
	root    *url.URL      // of the interface; nil if none is announced
	types   []*postType
	failing map[string]bool // by type, with "" for the interface: a failure has been logged
	skewed  bool            // the clocks differ, which has been logged
}

// A postType is a type of posts, such as pages, with the progress of reading them.
type postType struct {
	name    string
	posts   *url.URL
	refused bool // its posts are not public

	// Posts modified up to seen have been checked, and those in done, by link, with the times
	// of their modification.
	seen time.Time
	done map[string]time.Time
}

func newWordPress(s *Site) *wordpress {
	return &wordpress{Site: s, turn: make(chan struct{}, 1), failing: map[string]bool{}}
}

// poll checks the pages of recently modified posts, as far as may allows.
func (w *wordpress) poll(ctx context.Context, may func() bool) {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-w.turn }()
	var err error
	if time.Since(w.asked) >= discoverEvery {
		err = w.discover(ctx)
	}
	read, moved := false, false
	for _, t := range w.types {
		if t.refused {
			continue
		}
		before := t.seen
		w.note(ctx, t.name, w.check(ctx, t, may))
		read = read || !t.refused
		moved = moved || !t.seen.Equal(before)
	}
	if err == nil && len(w.types) > 0 && !read {
		err = errors.New("does not answer requests for posts of any type")
	}
	w.note(ctx, "", err)
	if moved {
		w.save()
	}
}

// check checks the pages of the modified posts of a type. An error means that some may be missing.
func (w *wordpress) check(ctx context.Context, t *postType, may func() bool) error {
	found, err := w.modified(ctx, t)
	if isMissing(err) && t.seen.IsZero() {
		t.refused = true
		return nil
	}
	next := found.until
	for _, p := range found.posts {
		if t.done[p.link].Equal(p.modified) {
			continue
		}
		u, key, ok := w.resolve(p.link)
		if ok && !w.recheck(ctx, page{key: key, uri: u, listed: p.modified}, false, may) {
			next = earlier(next, p.modified.Add(-1)) // the next poll finds it again
		} else if age := found.at.Sub(p.modified); age > time.Second+settled || age < -lateness {
			t.done[p.link] = p.modified // no other edit can have this time, or its time means nothing
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	t.seen = later(t.seen, next)
	for link, modified := range t.done {
		if !modified.After(t.seen) {
			delete(t.done, link)
		}
	}
	return err
}

// discover finds the interface and the types of posts.
func (w *wordpress) discover(ctx context.Context) error {
	root, err := w.announced(ctx)
	if err != nil {
		w.log.Debug("the announcement of WordPress is not read", "error", err)
		return nil // a scan reports that the site does not answer
	}
	if root == nil {
		if w.root != nil {
			w.log.Info("the website no longer announces the REST interface of WordPress")
		}
		w.root, w.types, w.asked = nil, nil, time.Now()
		w.lists.Store(0)
		return nil
	}
	if !strings.EqualFold(root.Host, w.base.Host) {
		return fmt.Errorf("is announced at another host: %s", root.Redacted())
	}
	types, err := w.readTypes(ctx, root)
	if err != nil {
		return err
	}
	if w.root == nil || w.root.String() != root.String() {
		w.log.Info("the REST interface of WordPress is queried for recently modified posts, as hints about pages in the sitemaps; --recent none switches that off", "url", root.String())
		w.root, w.types = root, nil
	}
	w.adopt(types)
	w.asked = time.Now()
	return nil
}

// adopt replaces the types of posts, and keeps the progress.
func (w *wordpress) adopt(types []*postType) {
	seen := w.loadSeen()
	for _, t := range types {
		t.seen, t.done = seen[t.name], map[string]time.Time{}
		for _, before := range w.types {
			if before.name == t.name {
				t.seen, t.done = before.seen, before.done
			}
		}
	}
	w.types = types
	w.lists.Store(int64(len(types)))
}

// announced returns the URL of the REST interface, or nil if none is announced.
func (w *wordpress) announced(ctx context.Context) (*url.URL, error) {
	ctx, cancel := context.WithTimeout(ctx, restTimeout)
	defer cancel()
	for _, method := range []string{http.MethodHead, http.MethodGet} {
		res, err := w.client.follow(ctx, method, w.base, http.Header{})
		if failed, ok := errors.AsType[*statusError](err); ok {
			if failed.status == http.StatusMethodNotAllowed || failed.status == http.StatusNotImplemented {
				continue
			}
			if failed.status < 500 && failed.status != http.StatusTooManyRequests {
				return nil, nil
			}
		}
		if err != nil {
			return nil, err
		}
		res.Body.Close()
		for link := range linkheader.Find(linkheader.Parse(res.Header["Link"]...), restRelation) {
			return w.base.Parse(link.Target)
		}
		return nil, nil
	}
	return nil, nil
}

// note logs when reading the interface or a type begins to fail, and when it works again.
func (w *wordpress) note(ctx context.Context, name string, err error) {
	if ctx.Err() != nil || (err != nil) == w.failing[name] {
		return
	}
	w.failing[name] = err != nil
	if err != nil {
		w.log.Warn("the REST interface of WordPress is not read completely; edits that no sitemap dates are found by visits in turn, or by lists given with --recent", "type", name, "error", err)
		return
	}
	w.log.Info("the REST interface of WordPress is read again", "type", name)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
