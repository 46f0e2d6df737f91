package sitemap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/webclient"
)

const (
	// restTimeout limits the time of a request to the REST interface of WordPress.
	restTimeout = 30 * time.Second

	// maxTypes is the maximum number of types that are requested, and maxPosts the maximum
	// number of posts of a type that a poll reads, in pages of perPage.
	maxTypes = 50
	maxPosts = 1000
	perPage  = 100
)

var (
	errNotJSON   = errors.New("did not return the JSON of WordPress")
	errUnordered = errors.New("does not order posts by their modification; does a cache ignore the query?")
	errRepeats   = errors.New("repeats a page of posts; does a cache ignore the query?")
	errMany      = errors.New("returns more posts than requested")
	errUndated   = errors.New("states neither link nor modified_gmt of any post")
)

// A post is a post of WordPress.
type post struct {
	link     string
	modified time.Time
}

// posts are the recently modified posts of a type.
type posts struct {
	posts []post
	at    time.Time // when the website answered, by its clock
	until time.Time // the next poll need not read posts that were modified earlier
}

// modified returns the posts of a type that were modified after t.seen. The posts are valid also
// if there is an error.
func (w *wordpress) modified(ctx context.Context, t *postType) (out posts, err error) {
	out.until = t.seen
	for n := 1; ; n++ {
		read, h, err := w.readPosts(ctx, t, n)
		failed, ok := errors.AsType[*statusError](err)
		if n > 1 && ok && failed.status == http.StatusBadRequest {
			return out, nil // there are no more pages
		}
		if err != nil {
			out.until = t.seen
			return out, fmt.Errorf("%s %w", t.posts, err)
		}
		if n == 1 {
			w.begin(t, &out, read, h)
		} else if len(read) > 0 && read[0] == out.posts[0] {
			return out, errRepeats
		}
		for _, p := range read {
			if !p.modified.After(t.seen) {
				return out, nil
			}
			if last := len(out.posts) - 1; last >= 0 && p.modified.After(out.posts[last].modified) {
				err = errUnordered
			}
			out.posts = append(out.posts, p)
		}
		pages, _ := strconv.Atoi(h.Get("X-WP-TotalPages"))
		switch {
		case err != nil || len(read) == 0 || pages > 0 && n >= pages:
			return out, err
		case t.seen.IsZero():
			return out, nil // the first scan, or visits, check the others
		case len(out.posts) >= maxPosts:
			w.log.Warn("more posts of WordPress were modified than are read at once; edits of those between two times are found by visits in turn", "type", t.name,
				"read", len(out.posts), "after", t.seen, "before", out.posts[len(out.posts)-1].modified)
			return out, nil
		}
	}
}

// begin records the times that the first page of posts shows.
func (w *wordpress) begin(t *postType, out *posts, read []post, h http.Header) {
	now := time.Now()
	out.at = now
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		out.at = date
	}
	if ahead := out.at.Sub(now); !w.skewed && ahead.Abs() > lateness {
		w.skewed = true
		w.log.Warn("the clock of the website differs from the clock of this computer", "ahead", ahead.Round(time.Second))
	}
	if t.seen.After(out.at) {
		w.log.Warn("the clock of the website has been set back; earlier edits of posts may be found by visits in turn only", "type", t.name, "from", t.seen, "to", out.at)
		t.seen = time.Time{}
		clear(t.done)
	}
	out.until = t.seen
	if len(read) > 0 {
		newest := slices.MaxFunc(read, func(a, b post) int { return a.modified.Compare(b.modified) }).modified
		out.until = earlier(newest, out.at.Add(-lateness))
	}
}

// readPosts reads a page of the posts of a type, the last modified first.
func (w *wordpress) readPosts(ctx context.Context, t *postType, n int) (out []post, h http.Header, err error) {
	u := *t.posts
	q := u.Query()
	q.Set("orderby", "modified")
	q.Set("order", "desc")
	q.Set("per_page", strconv.Itoa(perPage))
	q.Set("_fields", "link,modified_gmt")
	if n > 1 {
		q.Set("page", strconv.Itoa(n))
	}
	u.RawQuery = q.Encode()
	items := 0
	h, err = w.readREST(ctx, &u, '[', func(d *json.Decoder) error {
		var item struct {
			Link     text `json:"link"`
			Modified text `json:"modified_gmt"`
		}
		if err := d.Decode(&item); err != nil {
			return err
		}
		if items++; items > maxPosts {
			return errMany
		}
		if modified := parseTime(string(item.Modified)); item.Link != "" && !modified.IsZero() {
			out = append(out, post{string(item.Link), modified})
		}
		return nil
	})
	if err == nil && items > 0 && len(out) == 0 {
		err = errUndated
	}
	return out, h, err
}

// text is a JSON string; any other value is "".
type text string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *text) UnmarshalJSON(b []byte) error {
	*t = ""
	if len(b) > 0 && b[0] == '"' && len(b) <= maxText {
		return json.Unmarshal(b, (*string)(t))
	}
	return nil
}

// namePattern matches the parts of paths in the interface.
var namePattern = regexp.MustCompile(`^[\w-]+(/[\w-]+)*$`)

// readTypes returns the types of posts that the interface at root names.
func (w *wordpress) readTypes(ctx context.Context, root *url.URL) (out []*postType, err error) {
	skipped := 0
	types := restURL(root, "wp/v2/types")
	_, err = w.readREST(ctx, types, '{', func(d *json.Decoder) error {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var t struct {
			Base      text `json:"rest_base"`
			Namespace text `json:"rest_namespace"` // since WordPress 5.9
		}
		if err := d.Decode(&t); err != nil {
			return err
		}
		if t.Namespace == "" {
			t.Namespace = "wp/v2"
		}
		at := string(t.Namespace + "/" + t.Base)
		switch {
		case !namePattern.MatchString(at):
		case len(out) >= maxTypes:
			skipped++
		default:
			out = append(out, &postType{name: name.(string), posts: restURL(root, at)})
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s %w", types, err)
	case len(out) == 0:
		return nil, fmt.Errorf("%s names no types of posts", types)
	case skipped > 0 && len(w.types) == 0:
		w.log.Warn("the REST interface of WordPress has more types of posts than are requested; edits of the others are found by visits in turn", "asked", len(out), "not_asked", skipped, "last", out[len(out)-1].name)
	}
	return out, nil
}

// restURL returns the URL of a path in the interface at root, which has the path in its query if
// the website has plain permalinks.
func restURL(root *url.URL, path string) *url.URL {
	const route = "rest_route"
	q := root.Query()
	if !q.Has(route) {
		return root.JoinPath(path)
	}
	u := *root
	q.Set(route, strings.TrimSuffix(q.Get(route), "/")+"/"+path)
	u.RawQuery = q.Encode()
	return &u
}

// readREST reads a response of the interface: an array or object, as begin says. It calls item at
// each item.
func (w *wordpress) readREST(ctx context.Context, u *url.URL, begin json.Delim, item func(*json.Decoder) error) (http.Header, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, restTimeout, errors.New("took too long"))
	defer cancel()
	res, err := w.client.get(ctx, u, http.Header{})
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	d := json.NewDecoder(webclient.Limit(res.Body, maxFeed, errTooLarge))
	token, err := d.Token()
	if err == nil && token != begin {
		err = errNotJSON
	}
	for err == nil && d.More() {
		err = item(d)
	}
	if err == nil {
		_, err = d.Token() // the end
	}
	if err != nil && err != errTooLarge && err != errMany {
		err = fmt.Errorf("%w: %w", errNotJSON, err)
	}
	return res.Header, err
}

// seenFile keeps the progress of reading posts.
const seenFile = "wordpress.json"

// kept is the text of the file.
type kept struct {
	Interface string               `json:"interface"`
	Seen      map[string]time.Time `json:"seen"`
}

// loadSeen returns the progress of an earlier process, by type.
func (w *wordpress) loadSeen() map[string]time.Time {
	var k kept
	if w.copies.load(seenFile, &k) && k.Interface == w.root.String() {
		return k.Seen
	}
	return nil
}

// save keeps the progress.
func (w *wordpress) save() {
	k := kept{w.root.String(), map[string]time.Time{}}
	for _, t := range w.types {
		if !t.seen.IsZero() {
			k.Seen[t.name] = t.seen
		}
	}
	if err := w.copies.save(seenFile, k); err != nil {
		w.log.Warn("the progress of reading posts is not saved", "error", err)
	}
}
