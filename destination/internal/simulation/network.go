package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	errReset  = errors.New("simulation: the connection was reset")
	errKilled = errors.New("simulation: the process was killed")
)

// A request records a request for the judges.
type request struct {
	name     string    // the path without the slash
	version  int       // of the resource at that time
	process  int       // the number of the operation that has sent it
	status   int       // 0 if there was no response
	faulty   bool      // a fault changed the response
	at       time.Time // by the Source's clock
	when     time.Time // by the clock of the world
	received bool      // the whole body
}

type asOfKey struct{}

// asOf returns the moment of which the response to a request shows the state.
func asOf(r *http.Request) time.Time {
	if t, ok := r.Context().Value(asOfKey{}).(time.Time); ok {
		return t
	}
	return time.Now()
}

// A network carries the requests of a process to the Source, and applies faults to them.
type network struct {
	*World
	p *process
}

// RoundTrip implements [http.RoundTripper].
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	what := r.Method + " " + name
	nth := n.count(what)
	dice := n.roll("latency "+what, nth)
	if !n.Quick {
		if err := sleep(r.Context(), time.Duration(1+dice.IntN(40_000_000))); err != nil {
			return nil, err
		}
	}
	if n.p.isDead() {
		return nil, errKilled
	}
	if n.isFormer(r.URL.String()) {
		return n.answerFormer(r), nil
	}
	if !strings.HasPrefix(r.URL.String(), n.url()) {
		return nil, fmt.Errorf("simulation: there is no host %s", r.URL.Host)
	}
	n.mu.Lock()
	req := &request{name: name, process: n.p.number, at: n.now(), when: time.Now()}
	if r := n.truth[name]; r != nil {
		req.version = r.n
	}
	n.requests = append(n.requests, req)
	n.mu.Unlock()
	if name == "forged" {
		n.fail("forged", "a forged notification caused a request")
	}
	f := n.fault(what, nth)
	if req.faulty = f.kind != ""; req.faulty {
		n.fire(plannedFault{what, nth, f})
	}
	if f.kind == "reset" {
		return nil, errReset
	}
	res := n.answer(r, f)
	text, _ := io.ReadAll(res.Body)
	if n.Source != "" && res.StatusCode == http.StatusOK && res.Header.Get("Content-Encoding") == "" && strings.HasSuffix(name, ".xml") {
		n.remember(name, string(text))
	}
	n.mu.Lock()
	req.status = res.StatusCode
	n.mu.Unlock()
	var body io.Reader = &counted{bytes.NewReader(text), func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		req.received = true
	}}
	if f.kind == "cut" {
		body = &cutReader{bytes.NewReader(text[:f.n*len(text)/1000]), n.delay(dice.IntN(20_000_000))}
	}
	res.Body = n.opened(body)
	return res, nil
}

// opened returns the body of a response, which counts as open until it is closed.
func (n *network) opened(body io.Reader) io.ReadCloser {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open++
	n.most = max(n.most, n.open)
	return &responseBody{body, sync.OnceFunc(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.open--
	})}
}

// answer returns the response of the Source to r, or the response that a fault causes.
func (n *network) answer(r *http.Request, f fault) *http.Response {
	rec := httptest.NewRecorder()
	n.mu.Lock()
	now := n.now()
	n.mu.Unlock()
	if !n.NoDate {
		rec.Header().Set("Date", now.UTC().Format(http.TimeFormat))
	}
	switch f.kind {
	case "status":
		if n.RetryAfter > 0 && (f.n == http.StatusServiceUnavailable || f.n == http.StatusTooManyRequests) {
			rec.Header().Set("Retry-After", strconv.Itoa(int(n.RetryAfter/time.Second)))
		}
		rec.WriteHeader(f.n)
	case "old":
		age := time.Duration(f.n) * time.Second
		if !n.NoDate {
			rec.Header().Set("Date", now.Add(-age).UTC().Format(http.TimeFormat))
		}
		r := r.WithContext(context.WithValue(r.Context(), asOfKey{}, time.Now().Add(-age)))
		if n.Source == "" || n.serveOld(rec, r) != nil {
			n.source.ServeHTTP(rec, r)
		}
	default:
		n.source.ServeHTTP(rec, r)
	}
	res := rec.Result()
	res.Request = r
	return res
}

// A fault is a fault of a request: a "status", a "reset", a "cut" after n/1000 of the body,
// or an "old" document of n seconds ago.
type fault struct {
	kind string
	n    int
}

var statuses = []int{404, 403, 429, 500, 502, 503, 503, 504, 301, 204, 410, 416}

// fault returns the fault of a request that the script names, or a random one.
func (w *World) fault(what string, nth int) fault {
	if w.calm() {
		return fault{}
	}
	for _, f := range w.planned {
		if f.what == what && f.nth == nth {
			return f.fault
		}
	}
	dice := w.roll("fault "+what, nth)
	switch {
	case w.happens(w.Resets, "reset", what, nth):
		return fault{"reset", 0}
	case w.happens(w.Errors, "status", what, nth):
		return fault{"status", statuses[dice.IntN(len(statuses))]}
	case w.happens(w.Old, "old", what, nth) && strings.HasSuffix(what, ".xml"):
		return fault{"old", []int{1, 5, 60, 3600, 100_000}[dice.IntN(5)]}
	case w.happens(w.Cuts, "cut", what, nth):
		return fault{"cut", dice.IntN(1000)}
	}
	return fault{}
}

// A plannedFault is a fault that the script names.
type plannedFault struct {
	what string
	nth  int
	fault
}

func (f plannedFault) String() string {
	s := fmt.Sprintf("%s %d %s", f.what, f.nth, f.kind)
	if f.n > 0 {
		s += fmt.Sprintf(" %d", f.n)
	}
	return s
}

// fire records a fault that happens.
func (w *World) fire(f plannedFault) {
	w.event("fault %v", f)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fired = append(w.fired, f)
	if f.kind != "forged" && f.kind != "repeated" {
		w.lastFault = time.Now()
	}
}

// plan reads an event such as "fault GET r/a 2 status 503".
func (w *World) plan(args []string) error {
	if len(args) < 4 {
		return fmt.Errorf("a fault needs more than %q", args)
	}
	f := plannedFault{what: args[0] + " " + args[1], fault: fault{kind: args[3]}}
	if _, err := fmt.Sscan(args[2], &f.nth); err != nil {
		return err
	}
	if len(args) > 4 {
		if _, err := fmt.Sscan(args[4], &f.n); err != nil {
			return err
		}
	}
	w.planned = append(w.planned, f)
	return nil
}

// contents returns the names of the resources whose content an operation has received.
func (w *World) contents(process int) (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.requests {
		if r.process == process && r.status == http.StatusOK && (w.versions[r.name] > 0 || strings.HasSuffix(r.name, ".zip") && w.Documents != "none") {
			names = append(names, r.name)
		}
	}
	slices.Sort(names)
	return names
}

// counted calls end after the last byte.
type counted struct {
	io.Reader
	end func()
}

// Read implements [io.Reader].
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err == io.EOF {
		c.end()
	}
	return n, err
}

// A responseBody calls closed when it is closed.
type responseBody struct {
	io.Reader
	closed func()
}

// Close implements [io.Closer].
func (b *responseBody) Close() error {
	b.closed()
	return nil
}

// A cutReader is a body whose connection ends early.
type cutReader struct {
	io.Reader
	delay func()
}

// Read implements [io.Reader].
func (c *cutReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err == io.EOF {
		c.delay()
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (n *network) delay(nanos int) func() { return func() { time.Sleep(time.Duration(nanos)) } }

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
