package sidecar

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/linkheader"
)

// withHTMLLinks returns a handler that inserts links into the HTML pages of next: one for
// each Capability List that the Link header set before names.
func withHTMLLinks(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var links []byte
		for link := range linkheader.Find(linkheader.Parse(w.Header()["Link"]...), resourcesync.RelResourceSync) {
			links = append(links, linkElement(link.Target)...)
		}
		// A request for a range may be sent twice, which a body does not allow.
		if links == nil || r.Method != http.MethodGet && r.Method != http.MethodHead || r.ContentLength != 0 || r.Header["Upgrade"] != nil {
			next.ServeHTTP(w, r)
			return
		}
		if p, ok := next.(*proxy); ok { // its linkingTransport needs no second goroutine
			p.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), linksKey{}, links)))
			return
		}
		b := &bridge{w: w, preset: w.Header().Clone(), runs: make(chan *run)}
		var sender sync.WaitGroup
		defer sender.Wait()
		sender.Go(func() { b.send(visitorTransport{b, links}, r) })
		// The handler stays in the goroutine of the server, which its panics must reach.
		for run := range b.runs {
			run.serve(next)
		}
		if b.panicked != nil {
			panic(b.panicked)
		}
	})
}

// A bridge is an [http.RoundTripper] that has a handler answer, and sends the response to
// w. The handler runs in one goroutine, and the transport in another.
type bridge struct {
	w        http.ResponseWriter
	preset   http.Header
	runs     chan *run
	last     *run // for the transport
	wrote    bool // the header of the final response
	panicked any  // by w
}

// RoundTrip implements [http.RoundTripper].
func (b *bridge) RoundTrip(r *http.Request) (*http.Response, error) {
	run := &run{bridge: b, request: r, header: b.preset.Clone()}
	run.in, run.out = io.Pipe()
	run.buffer = bufio.NewWriterSize(run.out, 2<<10) // as net/http, which detects the type from its first write
	b.last = run
	b.runs <- run
	start := make([]byte, 512) // that http.DetectContentType considers
	n, err := run.in.Read(start)
	if err != nil && err != io.EOF {
		return nil, err
	}
	run.flush = n == 0 && err == nil
	if _, known := run.final["Content-Type"]; !known && n > 0 && run.final.Get("Content-Encoding") == "" {
		run.final.Set("Content-Type", http.DetectContentType(start[:n]))
	}
	length, err := strconv.ParseInt(run.final.Get("Content-Length"), 10, 64)
	if err != nil {
		length = -1
	}
	return &http.Response{
		StatusCode: run.status, Header: run.final, ContentLength: length, Request: r,
		Body: &page{io.MultiReader(bytes.NewReader(start[:n]), run), run.in},
	}, nil
}

// send sends the response of t to r. If that fails, so do the writes of the handler.
func (b *bridge) send(t http.RoundTripper, r *http.Request) {
	defer close(b.runs)
	defer func() {
		if b.panicked = recover(); b.panicked != nil {
			_ = b.last.in.Close()
		}
	}()
	res, err := t.RoundTrip(r)
	if err != nil {
		return // the handler has panicked
	}
	defer res.Body.Close()
	b.writeHeader(res.StatusCode, res.Header)
	b.wrote = true
	buf := buffers.Get()
	defer buffers.Put(buf)
	if _, err = io.CopyBuffer(struct{ io.Writer }{b.w}, res.Body, buf); err != nil {
		_ = b.last.in.CloseWithError(err)
		_ = http.NewResponseController(b.w).Flush() // the received part of an aborted response
		return
	}
	for name, values := range b.last.header {
		if strings.HasPrefix(name, http.TrailerPrefix) || announces(res.Header, name) {
			b.w.Header()[name] = values
		}
	}
}

// writeHeader writes a header to w.
func (b *bridge) writeHeader(status int, header http.Header) {
	clear(b.w.Header())
	maps.Copy(b.w.Header(), header)
	b.w.WriteHeader(status)
}

// A run is one call of the handler, its [http.ResponseWriter], and the body of the
// response. An empty write to the pipe is a flush.
type run struct {
	*bridge
	request *http.Request
	header  http.Header
	status  int         // 0 until WriteHeader
	final   http.Header // copy of header when the final status was written
	buffer  *bufio.Writer
	in      *io.PipeReader
	out     *io.PipeWriter
	flush   bool // wanted by the handler
}

// serve has next answer the request.
func (r *run) serve(next http.Handler) {
	defer func() { _ = r.out.CloseWithError(http.ErrAbortHandler) }() // no effect after Close
	next.ServeHTTP(r, r.request)
	r.WriteHeader(http.StatusOK)
	_ = r.buffer.Flush()
	_ = r.out.Close()
}

// Header implements [http.ResponseWriter].
func (r *run) Header() http.Header { return r.header }

// WriteHeader implements [http.ResponseWriter].
func (r *run) WriteHeader(status int) {
	switch {
	case r.status != 0:
	case status < 200 && status != http.StatusSwitchingProtocols:
		r.writeHeader(status, r.header)
	default:
		r.status, r.final = status, r.header.Clone()
	}
}

// Write implements [io.Writer].
func (r *run) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	if r.status == http.StatusNoContent || r.status == http.StatusNotModified {
		return 0, http.ErrBodyNotAllowed
	}
	return r.buffer.Write(p)
}

// Flush implements [http.Flusher]. Bytes before the insertion point still wait for it.
func (r *run) Flush() {
	r.WriteHeader(http.StatusOK)
	_ = r.buffer.Flush()
	_, _ = r.out.Write(nil)
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (r *run) Unwrap() http.ResponseWriter { return r.w }

// Read implements [io.Reader]. When the handler has flushed, all data before has been
// sent.
func (r *run) Read(p []byte) (int, error) {
	for {
		if r.flush && r.wrote {
			r.flush = false
			_ = http.NewResponseController(r.w).Flush()
		}
		n, err := r.in.Read(p)
		if n > 0 || err != nil {
			return n, err
		}
		r.flush = true
	}
}
