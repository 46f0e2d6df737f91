package wellknown

import (
	"bytes"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"

	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

const robotsPath = "/robots.txt"

// MaxRobots is the greatest length, in bytes, of a robots.txt that [Robots]
// adds to. Crawlers read no more than about that either (RFC 9309, section 2.5:
// at least 500 kibibytes).
const MaxRobots = 512 << 10

// Robots puts sitemaps into the robots.txt of the site behind it (section
// 6.3.4), by [AppendRobots].
//
// It asks next for /robots.txt, for the whole of it: without the conditions,
// ranges and codings that the client has asked for, and by GET if by HEAD. Then
//
//   - a 200 answer in plain text, or of no stated type and plain to look at, is
//     merged and served with an entity tag of its own in place of the validators
//     of next, and with the rest of next's header;
//   - in place of 404 and 410, a file of nothing but the directives is served;
//   - all else passes as it comes: other statuses and types, encoded answers,
//     those longer than [MaxRobots], and text in which lines of ASCII would be
//     out of place, such as UTF-16.
//
// An answer that may have to be merged is held back until its end or until it is
// too long, so a request takes up to MaxRobots bytes of memory. Requests of other
// paths and methods go to next with their ResponseWriter, and so does everything
// if there are no sitemaps.
func Robots(sitemaps []string) func(next http.Handler) http.Handler {
	sitemaps = slices.Clone(sitemaps)
	return func(next http.Handler) http.Handler {
		if len(sitemaps) == 0 {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != robotsPath || r.Method != http.MethodGet && r.Method != http.MethodHead {
				next.ServeHTTP(w, r)
				return
			}
			if !reqbody.None(w, r) {
				return
			}
			a := &answer{w: w, before: w.Header().Clone()}
			next.ServeHTTP(a, whole(r))
			a.finish(r, sitemaps)
		})
	}
}

// whole returns a request for the whole of what r asks for, uncoded.
func whole(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	r.Method = http.MethodGet
	for _, name := range []string{
		"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since",
		"If-Range", "Range", "Accept-Encoding",
	} {
		r.Header.Del(name)
	}
	return r
}

// An answer is the ResponseWriter that next gets for /robots.txt. Its header is
// that of w, so that nothing needs to be copied when the answer passes.
type answer struct {
	w      http.ResponseWriter
	before http.Header // what w's header was before next
	fate   fate
	held   []byte // the body so far, at most MaxRobots
}

// A fate is what becomes of an answer. It is decided by its header; one that is
// held may still come to pass, when more is known of its body.
type fate int

const (
	undecided fate = iota
	held           // to be merged
	replaced       // to be replaced, its body dropped
	passed
)

func (a *answer) Header() http.Header { return a.w.Header() }

func (a *answer) WriteHeader(status int) {
	switch {
	case a.fate != undecided:
	case 100 <= status && status <= 199:
		a.w.WriteHeader(status) // the answer itself is yet to come
	case status == http.StatusNotFound || status == http.StatusGone:
		a.fate = replaced
	case status == http.StatusOK && mergeable(a.w.Header()):
		a.fate = held
	default:
		a.fate = passed
		a.w.WriteHeader(status)
	}
}

func (a *answer) Write(p []byte) (int, error) {
	if a.fate == undecided {
		a.WriteHeader(http.StatusOK)
	}
	switch {
	case a.fate == replaced:
		return len(p), nil
	case a.fate == held && len(a.held)+len(p) <= MaxRobots:
		a.held = append(a.held, p...)
		return len(p), nil
	case a.fate == held:
		a.pass()
	}
	return a.w.Write(p)
}

// FlushError sends what has been written if the answer passes.
func (a *answer) FlushError() error {
	if a.fate != passed {
		return nil
	}
	return http.NewResponseController(a.w).Flush()
}

// Flush is FlushError for handlers that look for an [http.Flusher].
func (a *answer) Flush() { a.FlushError() }

// pass lets through what has been held. If the client is gone, the next Write
// says so.
func (a *answer) pass() {
	a.w.WriteHeader(http.StatusOK)
	a.w.Write(a.held)
	a.fate, a.held = passed, nil
}

// finish answers r when next has returned.
func (a *answer) finish(r *http.Request, sitemaps []string) {
	if a.fate == undecided {
		a.WriteHeader(http.StatusOK)
	}
	header := a.w.Header()
	switch {
	case a.fate == passed:
		return
	case a.fate == replaced:
		// What next said belongs to its error page, a cookie or a language
		// perhaps; what was there before next does not.
		clear(header)
		maps.Copy(header, a.before)
	case !a.complete() || !isPlain(a.held, header.Get("Content-Type")):
		a.pass()
		return
	}
	for _, name := range []string{
		"ETag", "Last-Modified", "Content-Length",
		"Content-Digest", "Repr-Digest", "Digest", "Content-MD5",
	} {
		header.Del(name) // true of the bytes before merging only
	}
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	body := AppendRobots(nil, a.held, sitemaps)
	serve(a.w, r, entityTag(body), body)
}

// complete reports whether the body is as long as next has said it would be. If
// not, next has failed half-way, and the server shall break the connection off
// as it would without us.
func (a *answer) complete() bool {
	length := a.w.Header().Get("Content-Length")
	return length == "" || length == strconv.Itoa(len(a.held))
}

// mergeable reports whether an answer with this header may turn out to be a
// robots.txt to merge.
func mergeable(header http.Header) bool {
	contentType := header.Get("Content-Type")
	return header.Get("Content-Encoding") == "" && (contentType == "" || isPlainType(contentType))
}

// isPlain reports whether body is text that directives can be appended to. A
// type that has not been stated is found as net/http would find it: a site that
// answers every path with its front page must not get lines into its HTML. And
// text with a zero byte is UTF-16, or no text at all.
func isPlain(body []byte, contentType string) bool {
	if contentType == "" {
		contentType = http.DetectContentType(body)
	}
	return isPlainType(contentType) && bytes.IndexByte(body, 0) < 0
}

func isPlainType(contentType string) bool {
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && mediaType == "text/plain"
}
