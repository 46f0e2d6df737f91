package wellknown

import (
	"bytes"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

const robotsPath = "/robots.txt"

// MaxRobots is the maximum length, in bytes, of a robots.txt that [Robots] extends.
// Crawlers need not read more than 500 kibibytes (RFC 9309, section 2.5).
const MaxRobots = 512 << 10

// Robots is middleware that adds sitemaps to the robots.txt of next (section 6.3.4),
// with [AppendRobots].
//
// It requests all of /robots.txt from next: by GET, without the conditions, ranges
// and codings of the client's request. It handles the response by its status and
// type:
//
//   - It merges a 200 of type text/plain, or without a type and detected as plain
//     text. It keeps the header of the response, but replaces its validators by an
//     entity tag of the merged text.
//   - It replaces 404 and 410 by a file with the directives alone.
//   - It passes on everything else unchanged: other statuses and types, encoded
//     responses, responses longer than [MaxRobots], and text that is not a superset
//     of ASCII, such as UTF-16.
//
// A response to be merged is buffered until it ends or grows too long, so a request
// takes up to MaxRobots bytes of memory. Requests for other paths and by other methods
// go to next with their own ResponseWriter, as all requests do if there are no
// sitemaps.
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
			m := &merger{w: w, before: w.Header().Clone()}
			next.ServeHTTP(m, unconditional(r))
			m.finish(r, sitemaps)
		})
	}
}

// unconditional returns a GET request for the complete, unencoded resource that r
// requests.
func unconditional(r *http.Request) *http.Request {
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

// A merger is the ResponseWriter that next gets for /robots.txt. It shares the header
// of w, so a response that passes needs no copying.
type merger struct {
	w      http.ResponseWriter
	before http.Header // the header of w before next was called
	action action
	buffer []byte // the body so far, at most MaxRobots
}

// An action says how a merger handles a response. The header decides; a merge may
// still become a pass when more of the body is known.
type action int

const (
	undecided action = iota
	merge
	replace // drop the body
	pass
)

func (m *merger) Header() http.Header { return m.w.Header() }

func (m *merger) WriteHeader(status int) {
	switch {
	case m.action != undecided:
	case 100 <= status && status <= 199:
		m.w.WriteHeader(status) // informational: the final response follows
	case status == http.StatusNotFound || status == http.StatusGone:
		m.action = replace
	case status == http.StatusOK && mergeable(m.w.Header()):
		m.action = merge
	default:
		m.action = pass
		m.w.WriteHeader(status)
	}
}

func (m *merger) Write(p []byte) (int, error) {
	if m.action == undecided {
		m.WriteHeader(http.StatusOK)
	}
	switch {
	case m.action == replace:
		return len(p), nil
	case m.action == merge && len(m.buffer)+len(p) <= MaxRobots:
		m.buffer = append(m.buffer, p...)
		return len(p), nil
	case m.action == merge:
		m.pass()
	}
	return m.w.Write(p)
}

// FlushError flushes a response that passes.
func (m *merger) FlushError() error {
	if m.action != pass {
		return nil
	}
	return http.NewResponseController(m.w).Flush()
}

// Flush implements [http.Flusher].
func (m *merger) Flush() { m.FlushError() }

// pass sends the buffered response unchanged. If the client has left, the next Write
// reports it.
func (m *merger) pass() {
	m.w.WriteHeader(http.StatusOK)
	m.w.Write(m.buffer)
	m.action, m.buffer = pass, nil
}

// finish completes the response after next has returned.
func (m *merger) finish(r *http.Request, sitemaps []string) {
	if m.action == undecided {
		m.WriteHeader(http.StatusOK)
	}
	header := m.w.Header()
	switch {
	case m.action == pass:
		return
	case m.action == replace:
		// Drop the header of next's error page, but keep what outer handlers
		// had set before.
		clear(header)
		maps.Copy(header, m.before)
	case !m.complete() || !isPlain(m.buffer, header.Get("Content-Type")):
		m.pass()
		return
	}
	for _, name := range []string{
		"ETag", "Last-Modified", "Content-Length",
		"Content-Digest", "Repr-Digest", "Digest", "Content-MD5",
	} {
		header.Del(name) // they describe the text before merging
	}
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	body := AppendRobots(nil, m.buffer, sitemaps)
	serve(m.w, r, entityTag(body), body)
}

// complete reports whether the body has its stated length. If not, next has failed
// part-way, and the response passes so that the server closes the connection.
func (m *merger) complete() bool {
	length := m.w.Header().Get("Content-Length")
	return length == "" || length == strconv.Itoa(len(m.buffer))
}

// mergeable reports whether a response with this header may be a robots.txt to merge.
func mergeable(header http.Header) bool {
	contentType := header.Get("Content-Type")
	return header.Get("Content-Encoding") == "" && (contentType == "" || isPlainType(contentType))
}

// isPlain reports whether directives can be appended to body. It detects a missing
// type as net/http does, because a website that answers every path with its front page
// must not get lines into its HTML. Text with a zero byte is UTF-16, or not text.
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

// AppendRobots appends existing, the text of a robots.txt, to b, and then a Sitemap
// directive for each of sitemaps that existing lacks (section 6.3.4). existing may be
// empty. sitemaps are the URIs of Resource Lists or of other sitemaps.
//
// AppendRobots does not change existing, but terminates its last line if it adds
// another. Added lines end like the first line of existing, in CR LF or in LF.
//
// A directive in existing counts if its value equals the URI byte for byte; the word
// Sitemap may be in any case. Merging again therefore changes nothing. To keep a URI
// from adding other lines, AppendRobots drops its fragment, which would be a comment
// in robots.txt, and percent-encodes spaces, control characters and bytes beyond
// ASCII.
func AppendRobots(b, existing []byte, sitemaps []string) []byte {
	b = append(b, existing...)
	listed := sitemapsOf(existing)
	newline := lineEnd(existing)
	ended := len(existing) == 0 || bytes.ContainsAny(existing[len(existing)-1:], "\r\n")
	for _, uri := range sitemaps {
		uri = fieldValue(uri)
		if uri == "" || listed[uri] {
			continue
		}
		listed[uri] = true
		if !ended {
			b = append(b, newline...)
			ended = true
		}
		b = append(b, "Sitemap: "...)
		b = append(b, uri...)
		b = append(b, newline...)
	}
	return b
}

const (
	byteOrderMark = "\uFEFF"
	blank         = " \t"
)

// sitemapsOf returns the values of the Sitemap directives in text. Lines end in
// CR, LF or both, and a # begins a comment (RFC 9309, section 2.2).
func sitemapsOf(text []byte) map[string]bool {
	listed := make(map[string]bool)
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	for line := range bytes.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		line, _, _ = bytes.Cut(line, []byte("#"))
		name, value, _ := bytes.Cut(line, []byte(":"))
		if bytes.EqualFold(bytes.Trim(name, blank), []byte("sitemap")) {
			listed[string(bytes.Trim(value, blank))] = true
		}
	}
	return listed
}

// lineEnd returns the line terminator of the first line of text.
func lineEnd(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// fieldValue returns uri as the value of a directive.
func fieldValue(uri string) string {
	uri, _, _ = strings.Cut(uri, "#")
	const hex = "0123456789ABCDEF"
	var b []byte
	for i := range len(uri) {
		if c := uri[i]; ' ' < c && c < 0x7F {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}
