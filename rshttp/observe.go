package rshttp

import (
	"cmp"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
)

// An Answer describes an answered request; see [Options].Observe.
type Answer struct {
	// Request is the request. An observer must neither change nor keep it. Its Form has the
	// parameters that the Source's own hub has accepted.
	Request *http.Request

	// Document is the kind of the requested document, of which there are about thirty.
	// It is a [resourcesync.Capability], such as "changelist", or begins with one:
	// "description-part", "resourcelist-page", "changelist-window", "changelist-recent",
	// "resourcedump-part", "changedump-part", "resourcedump-package",
	// "changedump-package", and "-page" after the capability of an archive. Others are
	// "sitemap", "sitemap-page", "memento" for a version of a resource, and "hub" for
	// a request to the Source's own hub. A topic is named after its channel, such as
	// "change-notification".
	Document string

	// Set is the name of the set. It is empty for documents of the Source.
	Set string

	// Index means that the document is an index: it lists documents instead of
	// resources or changes.
	Index bool

	// HTML means that the answer is a page for people about the document.
	HTML bool

	// Status is the status code.
	Status int

	// Bytes is the length of the body on the wire, without the header.
	Bytes int64

	// Duration is the time from the beginning of the request to the end of the answer.
	Duration time.Duration

	// Cached means that the document was answered without rendering it.
	Cached bool

	// Complete means that the whole answer was sent, as far as the server can
	// see. It is false if the client has left or the transfer was aborted.
	Complete bool

	// Until is the datetime of the newest change that the document covers: of a
	// Change List, of a package of a Change Dump or its manifest, or of a Resource List
	// that is not divided into pages. It is zero if unknown, for other documents, and
	// if the client has neither got the document, or a part of a package, nor had it
	// before (304).
	Until time.Time

	// Changes is the interval whose changes the document has, as its from and until state it: of a
	// Change List, or of a package of a Change Dump or its manifest. It is zero if Until is.
	Changes resourcesync.Interval

	// Keys is the range of a page of a Resource List or of a package of a Resource Dump. It is the
	// zero value, which is the whole set, for a Resource List without pages, and for other documents.
	Keys resourcesync.Range
}

// documentHub is Answer.Document of a request to the Source's own hub.
const documentHub = "hub"

// observe calls answer, which answers r, and reports the answer to the observer. about has the
// fields that are known before.
func (s *server) observe(w http.ResponseWriter, about Answer, answer func(http.ResponseWriter)) {
	rec := &recorder{ResponseWriter: w, Answer: about}
	began := time.Now()
	defer func() { // even if a transfer is aborted, which panics
		rec.Duration = time.Since(began)
		rec.Status = cmp.Or(rec.Status, http.StatusOK)
		// A client that has everything may close the connection before this.
		left := rec.Status == http.StatusServiceUnavailable && rec.Request.Context().Err() != nil
		rec.Complete = rec.Complete && rec.failed == nil && !left
		rec.HTML = rec.HTML || strings.HasPrefix(w.Header().Get("Content-Type"), "text/html")
		if !rec.covers() {
			rec.Until, rec.Changes = time.Time{}, resourcesync.Interval{}
		}
		s.options.Observe(rec.Answer)
	}()
	answer(rec)
	rec.Complete = true
}

// covers reports whether the client has the document now.
func (a *Answer) covers() bool {
	switch {
	case a.HTML:
		return false
	case a.Status == http.StatusOK, a.Status == http.StatusPartialContent:
		return a.Complete && a.Request.Method == http.MethodGet
	}
	return a.Status == http.StatusNotModified
}

// A recorder is a ResponseWriter that records the answer.
type recorder struct {
	http.ResponseWriter
	Answer
	failed error // the first error of a write
}

// Unwrap lets http.ResponseController reach the wrapped writer.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.Status == 0 && status >= 200 {
		r.Status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	n, err := r.ResponseWriter.Write(p)
	r.wrote(int64(n), err)
	return n, err
}

// ReadFrom implements io.ReaderFrom, so that the wrapped writer can still copy in its own way.
func (r *recorder) ReadFrom(src io.Reader) (int64, error) {
	n, err := io.Copy(r.ResponseWriter, src)
	r.wrote(n, err)
	return n, err
}

func (r *recorder) wrote(n int64, err error) {
	r.Bytes += n
	if r.failed == nil {
		r.failed = err
	}
}

// sending records which document w sends, if its answers are observed.
func sending(w http.ResponseWriter, doc *response, cached bool) {
	if r, ok := w.(*recorder); ok {
		r.Cached, r.Index, r.Until = cached, doc.Index, doc.until()
		if !doc.Index && doc.target.Kind.Capability == resourcesync.ChangeList {
			r.Changes = doc.State.Covered
		}
	}
}

// sendingPage records that w sends a page for people, even if the answer is 304 and has no
// Content-Type.
func sendingPage(w http.ResponseWriter) {
	if r, ok := w.(*recorder); ok {
		r.HTML = true
	}
}

// until returns Answer.Until of d.
func (d *response) until() time.Time {
	switch k := d.target.Kind; {
	case d.Index:
		return time.Time{}
	case k.Capability == resourcesync.ChangeList:
		return d.State.Last
	case k.Name == document.KindResourceList:
		return d.State.Modified
	}
	return d.target.Interval().Until
}
