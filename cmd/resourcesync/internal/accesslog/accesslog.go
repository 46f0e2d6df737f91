// Package accesslog writes a line about each request that a server has answered.
package accesslog

import (
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/felixge/httpsnoop"
)

// formats write lines, by name.
var formats = map[string]func(line []byte, e *entry) []byte{
	"combined": appendCombined,
	"json":     appendJSON,
}

// Handler returns a handler that calls next and then writes a line to w, with one call of
// Write. It logs the first failed write. The ResponseWriter that next gets has the
// optional methods of the one that Handler gets, so that files are still copied by the
// operating system. format must be a format.
func Handler(w io.Writer, format string, log *slog.Logger, next http.Handler) http.Handler {
	return &handler{next: next, append: formats[format], log: log, w: w}
}

type handler struct {
	next   http.Handler
	append func(line []byte, e *entry) []byte
	log    *slog.Logger

	mu     sync.Mutex
	w      io.Writer
	line   []byte // reused
	failed bool
}

// An entry holds the values of a line.
type entry struct {
	*http.Request
	begun   time.Time
	took    time.Duration
	status  int
	bytes   int64 // of the body
	aborted bool  // the answer is not complete
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sent := *r // next may change r
	e := &entry{Request: &sent, begun: time.Now(), aborted: true}
	defer func() { // also if next panics to abort the answer
		if e.status == 0 {
			e.status = http.StatusOK
			if e.aborted {
				e.status = http.StatusInternalServerError
			}
		}
		e.took = time.Since(e.begun)
		h.write(e)
	}()
	h.next.ServeHTTP(e.wrap(w), r)
	e.aborted = false
}

// wrap returns w with hooks that set the status and count the bytes.
func (e *entry) wrap(w http.ResponseWriter) http.ResponseWriter {
	count := func(n int64) {
		if e.status == 0 {
			e.status = http.StatusOK
		}
		if e.Method != http.MethodHead {
			e.bytes += n
		}
	}
	return httpsnoop.Wrap(w, httpsnoop.Hooks{
		WriteHeader: func(next httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(status int) {
				next(status)
				if e.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
					e.status = status
				}
			}
		},
		Write: func(next httpsnoop.WriteFunc) httpsnoop.WriteFunc {
			return func(p []byte) (int, error) {
				n, err := next(p)
				count(int64(n))
				return n, err
			}
		},
		WriteString: func(next httpsnoop.WriteStringFunc) httpsnoop.WriteStringFunc {
			return func(s string) (int, error) {
				n, err := next(s)
				count(int64(n))
				return n, err
			}
		},
		ReadFrom: func(next httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(r io.Reader) (int64, error) {
				n, err := next(r)
				count(n)
				return n, err
			}
		},
	})
}

func (h *handler) write(e *entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.line = append(h.append(h.line[:0], e), '\n')
	_, err := h.w.Write(h.line)
	if err != nil && !h.failed {
		h.log.Error("the access log cannot be written; its lines are lost", "error", err)
	}
	h.failed = err != nil
}
