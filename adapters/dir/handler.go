package dir

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

// Handler serves the listed files at the URIs of their resources, with their media type
// and content coding. It passes GET and HEAD requests for anything else to next; if next
// is nil, it answers 404. It sends no redirects, folder listings or index pages: index.html
// has its own URI, and package browse has the others. It handles ranges and conditions as
// [http.ServeContent] does, but a file has no Last-Modified in the two seconds after a
// modification, and If-Range needs an entity tag.
//
// A text in UTF-8 has charset=utf-8, unless its first KiB names a charset. To recognize
// UTF-8, the handler reads up to the first character outside of ASCII, and 64 KiB at most.
// A longer text whose first 64 KiB are ASCII has no charset.
//
// The handler compares the complete path of a request with the path of the base URL: mount it
// without http.StripPrefix. The log names the first request whose path lacks its beginning.
//
// A host can serve the files by itself instead, for example with [http.FileServer] behind the
// Link method of the Source. That also serves files that are not listed, such as hidden ones.
func (d *Dir) Handler(next http.Handler) http.Handler {
	if next == nil {
		next = http.NotFoundHandler()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.serve(w, r, next) })
}

func (d *Dir) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	if !reqbody.Get(w, r) {
		return
	}
	key, ok := d.Key(r.URL)
	if !ok {
		d.noteStripped(r)
		next.ServeHTTP(w, r)
		return
	}
	f, found, err := d.open(key)
	if isNotListed(err) {
		next.ServeHTTP(w, r)
		return
	}
	if err != nil {
		d.serverError(w, r, key, err)
		return
	}
	defer f.Close()
	mediaType, err := typeOf(f, found.name)
	if err != nil {
		d.serverError(w, r, key, err)
		return
	}
	contentType, err := withCharset(mediaType, f)
	if err != nil {
		d.serverError(w, r, key, err)
		return
	}
	h.Set("Content-Type", contentType)
	if coding := encodingByName(found.name); coding != "" {
		h.Set("Content-Encoding", coding)
		if r.Header.Get("If-Match") == "" && r.Header.Get("If-Unmodified-Since") == "" { // a 412 has no body
			h.Set("Content-Length", strconv.FormatInt(found.status.size, 10)) // ServeContent omits it for encoded content
		}
	}
	h.Set("Etag", etag(&found.status))
	var modified time.Time
	if identifiesVersion(found.status.modified, time.Now()) {
		modified = found.status.modified
	}
	http.ServeContent(w, withSafeRanges(r), "", modified, f)
}

// identifiesVersion reports whether a modification time identifies a version of a
// file. HTTP counts in seconds, so another modification may follow in the same second
// (RFC 9110, section 8.8.2.2). A Last-Modified must not be in the future (section
// 8.8.2.1).
func identifiesVersion(modified, now time.Time) bool { return now.Sub(modified) > 2*time.Second }

// maxRanges is the maximum number of ranges in one request. Each adds a header to the
// response that is longer than the range in the request.
const maxRanges = 16

// withSafeRanges returns r without its ranges if they depend on a date, or if there are
// too many. A program can give a new version of a file the time of an earlier one, so only
// the entity tag shows that parts belong together. A server may ignore ranges and send the
// complete file (RFC 9110, section 14.2).
func withSafeRanges(r *http.Request) *http.Request {
	condition := r.Header.Get("If-Range")
	strong := condition == "" || strings.HasSuffix(condition, `"`)
	if strong && strings.Count(r.Header.Get("Range"), ",") < maxRanges {
		return r
	}
	whole := r.WithContext(r.Context())
	whole.Header = r.Header.Clone()
	whole.Header.Del("Range")
	return whole
}

// noteStripped logs, once, that a request for a listed file has come without the beginning of its
// path, so that it was not recognized.
func (d *Dir) noteStripped(r *http.Request) {
	if d.stripped.Load() || !strings.HasPrefix(r.RequestURI, d.rawBase) { // StripPrefix leaves RequestURI as it was
		return
	}
	whole, err := url.ParseRequestURI(r.RequestURI)
	if err != nil || strings.HasPrefix(r.URL.Path, d.basePath) {
		return
	}
	if key, ok := d.Key(whole); ok && !isFolder(key) && d.Lists(key) && d.stripped.CompareAndSwap(false, true) {
		d.log.Warn("dir: requests for files arrive without the beginning of their paths, and are answered 404: mount the handler of the folder without http.StripPrefix",
			"requested", r.URL.Path, "file", whole.Path)
	}
}

func (d *Dir) serverError(w http.ResponseWriter, r *http.Request, key string, err error) {
	d.sparse.Log(r.Context(), d.log, slog.LevelError, "dir: not served", slog.String("key", key), slog.Any("error", err))
	http.Error(w, "internal server error", http.StatusInternalServerError)
}

// typeOf returns the media type of a file, as a scan determines it.
func typeOf(f io.ReaderAt, name string) (string, error) {
	if t := typeByName(name); t != "" {
		return t, nil
	}
	head := make([]byte, sniffLen)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return "", err
	}
	return typeByContent(head[:n]), nil
}

// etag returns the entity tag of the version of a file that st describes: a digest of
// its stamp, so that inode numbers are not published.
func etag(st *status) string {
	sum := sha256.Sum256(st.appendStamp(nil))
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}
