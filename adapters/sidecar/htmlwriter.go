package sidecar

import (
	"html"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/linkheader"
)

// withHTMLLinks returns a handler that inserts links into HTML pages: one for each
// Capability List that a Link header of the response names.
func withHTMLLinks(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		links := htmlLinks(w.Header()["Link"])
		// A request for a range may be sent twice, which a body does not allow.
		if links == nil || r.Method != http.MethodGet && r.Method != http.MethodHead || r.ContentLength != 0 {
			next.ServeHTTP(w, r)
			return
		}
		var preset http.Header
		if r.Header.Get("Range") != "" {
			preset = maps.Clone(w.Header())
		}
		page := &htmlWriter{ResponseWriter: w, request: r, links: links}
		page.serve(next, r)
		if page.ranged {
			// The range refers to the page with links: request all of it.
			clear(w.Header())
			maps.Copy(w.Header(), preset)
			whole := r.Clone(r.Context())
			whole.Header.Del("Range")
			whole.Header.Del("If-Range")
			page = &htmlWriter{ResponseWriter: w, request: whole, links: links}
			page.serve(next, whole)
		}
	})
}

// htmlLinks returns the link elements for the values of a Link header that lead to
// Capability Lists, or nil if there are none.
func htmlLinks(values []string) (out []byte) {
	for link := range linkheader.Find(linkheader.Parse(values...), resourcesync.RelResourceSync) {
		out = append(out, linkElement(link.Target)...)
	}
	return out
}

// linkElement returns the link element for a Capability List.
func linkElement(capabilityList string) []byte {
	return []byte(`<link rel="resourcesync" href="` + html.EscapeString(capabilityList) + `"/>`)
}

// An htmlWriter inserts links into the head of a page. It holds the header of the
// response back until it has found the insertion point, within the first 16 KiB. So a
// page without an insertion point passes unchanged, header included.
type htmlWriter struct {
	http.ResponseWriter
	request *http.Request
	links   []byte

	status   int  // 0 until WriteHeader
	declared bool // the header declares the encoding
	coding   string
	waiting  bool   // for the insertion point
	prefix   []byte // the beginning of the page, as received
	next     int    // length of prefix at which to search again
	zip      *recoder
	ranged   bool // the response is a part of a page; nothing has been sent
}

// serve has next answer r, and completes the response.
func (h *htmlWriter) serve(next http.Handler, r *http.Request) {
	completed := false
	defer func() {
		if !completed && h.zip != nil {
			h.zip.abort()
		}
	}()
	next.ServeHTTP(h, r)
	completed = true
	if err := h.close(); err != nil {
		panic(http.ErrAbortHandler) // the status is sent
	}
}

// WriteHeader implements [http.ResponseWriter].
func (h *htmlWriter) WriteHeader(status int) {
	if status < 200 && status != http.StatusSwitchingProtocols {
		h.ResponseWriter.WriteHeader(status)
		return
	}
	if h.status != 0 {
		return
	}
	h.status = status
	header := h.Header()
	switch {
	case status == http.StatusPartialContent && h.request.Header.Get("Range") != "" && mayBePartOfHTML(header):
		h.ranged = true
		return
	case status == http.StatusNotModified && (header.Get("Content-Type") == "" || isHTML(header)):
		weakenETag(header) // as in the 200, in case that is a page
	}
	ok, declared := isPlainHTML(status, header)
	h.declared = declared
	h.coding = contentCoding(header)
	switch {
	case !ok || !isInsertable(h.coding):
		h.ResponseWriter.WriteHeader(status)
	case h.request.Method == http.MethodHead:
		h.changeHeader(0)
		header.Del("Content-Length") // unknown without the page
		h.ResponseWriter.WriteHeader(status)
	default:
		h.waiting = true
	}
}

// changeHeader makes the header that of a page with n more bytes. Its validator
// becomes weak: caches may compare it, but clients must not combine ranges by it.
func (h *htmlWriter) changeHeader(n int) {
	header := h.Header()
	weakenETag(header)
	header.Set("Accept-Ranges", "none")
	if length, err := strconv.Atoi(header.Get("Content-Length")); err == nil {
		header.Set("Content-Length", strconv.Itoa(length+n))
	}
}

func weakenETag(header http.Header) {
	if etag := header.Get("Etag"); etag != "" && !strings.HasPrefix(etag, "W/") {
		header.Set("Etag", "W/"+etag)
	}
}

// Write implements [io.Writer].
func (h *htmlWriter) Write(p []byte) (int, error) {
	if h.status == 0 {
		if header := h.Header(); header["Content-Type"] == nil && header.Get("Content-Encoding") == "" {
			if _, known := header["Content-Type"]; !known {
				header.Set("Content-Type", http.DetectContentType(p)) // as the server would
			}
		}
		h.WriteHeader(http.StatusOK)
	}
	switch {
	case h.ranged:
		return len(p), nil
	case h.zip != nil:
		return h.zip.Write(p)
	case !h.waiting:
		return h.ResponseWriter.Write(p)
	}
	h.prefix = append(h.prefix, p...)
	if len(h.prefix) < h.next {
		return len(p), nil
	}
	h.next = len(h.prefix) + len(h.prefix)/8 + 1 // avoids quadratic cost of small writes
	return len(p), h.decide(false)
}

// decide sends the buffered prefix once the insertion point is known.
func (h *htmlWriter) decide(complete bool) error {
	page := h.prefix
	zipped := isGzip(h.coding)
	if zipped {
		var err error
		if page, err = unzipPrefix(h.prefix); err != nil {
			return h.send(nil) // the website's gzip data is invalid
		}
		complete = complete || len(h.prefix) > 4*maxProlog
	}
	at, decided := insertionPoint(page, h.declared, complete)
	switch {
	case !decided:
		return nil
	case at < 0:
		return h.send(nil)
	case !zipped:
		h.changeHeader(len(h.links))
		return h.send(func() error {
			return h.writeAll(page[:at], h.links, page[at:])
		})
	}
	h.changeHeader(0)
	h.Header().Del("Content-Length")
	return h.send(func() error {
		h.zip = newRecoder(h.ResponseWriter, at, h.links)
		_, err := h.zip.Write(h.prefix)
		return err
	})
}

// send sends the header, and then calls write to send the buffered bytes. If write is
// nil, it sends them unchanged.
func (h *htmlWriter) send(write func() error) error {
	h.waiting = false
	h.ResponseWriter.WriteHeader(h.status)
	if write == nil {
		write = func() error { return h.writeAll(h.prefix) }
	}
	err := write()
	h.prefix = nil
	return err
}

func (h *htmlWriter) writeAll(parts ...[]byte) error {
	for _, part := range parts {
		if len(part) == 0 {
			continue
		}
		if _, err := h.ResponseWriter.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// close ends the response.
func (h *htmlWriter) close() error {
	if h.waiting {
		if err := h.decide(true); err != nil {
			return err
		}
	}
	if h.zip != nil {
		return h.zip.close()
	}
	return nil
}

// FlushError flushes the response. It does not flush bytes that wait for the insertion
// point.
func (h *htmlWriter) FlushError() error {
	if h.status == 0 {
		h.WriteHeader(http.StatusOK)
	}
	if h.waiting || h.ranged || h.zip != nil {
		return nil // a recoder flushes by itself
	}
	return http.NewResponseController(h.ResponseWriter).Flush()
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (h *htmlWriter) Unwrap() http.ResponseWriter { return h.ResponseWriter }
