// Package websocket serves notification channels by WebSockets, as the 0.8 draft
// of the ResourceSync notification specification describes (section 6): each
// notification of a topic is one text message to every client that is connected.
//
// It is meant for clients that cannot be called back, browsers above all. What a
// client misses while it is not connected is not repeated: the from of the next
// Change Notification tells that something is missing, and the Change List what.
// Hubs are what to rely on otherwise.
package websocket

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/client"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/topic"
)

// Options configure a [Server]. The zero value is a reasonable default.
type Options struct {
	// Origins are the hosts whose web pages may connect: patterns for [path.Match]
	// such as "*.example.org". If empty, only pages of the host that is connected to
	// may. Clients that are not browsers name no origin and may always connect.
	Origins []string

	// AnyOrigin lets the pages of every host connect. What is pushed is public,
	// so this reveals nothing; it lets others use up Clients.
	AnyOrigin bool

	// Clients is how many may be connected at the same time, to all topics
	// together; others are answered 503. If zero, 1,000 is used.
	Clients int

	// PerClient is how many connections of these one client may have; more are
	// answered 429. If zero, 100 is used.
	PerClient int

	// Client returns what PerClient counts by: the address that a request comes
	// from. Behind a proxy it must be taken from a header that the proxy sets,
	// or all clients are one. If nil, it is the address of the connection, of an
	// IPv6 address the first 64 bits.
	Client func(r *http.Request) string

	// Ping is how often a client that hears nothing is asked whether it is still
	// there. If zero, 30 seconds is used.
	Ping time.Duration

	// Timeout is how long a client may take to accept a message or to answer a
	// ping before it is sent away. If zero, 10 seconds is used.
	Timeout time.Duration

	// Logger receives what clients are not told. If nil, slog.Default() is
	// used.
	Logger *slog.Logger
}

// A Server sends the notifications of a log to WebSocket clients. It is a
// [topic.Feed], for the field WebSocket of rshttp.Options, and safe for concurrent use.
type Server struct {
	options Options
	log     *slog.Logger
	sparse  sparse.Log // of what clients can cause

	mu      sync.Mutex
	rooms   map[string]*room
	clients int
	each    map[string]int  // connections of each client
	running context.Context // nil unless Run is
	source  topic.Log       // that of Run
}

var _ topic.Feed = (*Server)(nil)

// New returns a Server. opts may be nil.
func New(opts *Options) (*Server, error) {
	s := &Server{rooms: map[string]*room{}, each: map[string]int{}}
	if opts != nil {
		s.options = *opts
	}
	o := &s.options
	if o.Clients < 0 || o.PerClient < 0 || o.Ping < 0 || o.Timeout < 0 {
		return nil, errors.New("websocket: Clients, PerClient, Ping and Timeout must not be negative")
	}
	if o.Clients == 0 {
		o.Clients = 1_000
	}
	if o.PerClient == 0 {
		o.PerClient = 100
	}
	if o.Client == nil {
		o.Client = client.Of
	}
	if o.Ping == 0 {
		o.Ping = 30 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if s.log = o.Logger; s.log == nil {
		s.log = slog.Default()
	}
	return s, nil
}

// Clients returns how many clients are connected.
func (s *Server) Clients() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clients
}

// admits reports whether the page that r comes from may connect. With a list of
// origins the host of the request does not count: a page that has rebound its own name
// to the address of the server names it there, too.
func (s *Server) admits(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || s.options.AnyOrigin || len(s.options.Origins) == 0 {
		return true // or Accept decides
	}
	u, err := url.Parse(origin)
	return err == nil && slices.ContainsFunc(s.options.Origins, func(pattern string) bool {
		ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(u.Host))
		return ok && err == nil
	})
}

// ServeTopic connects a client to a topic for as long as both want, and while
// [Server.Run] runs. The connection is taken over from the server: its time-outs
// end, and Shutdown does not wait for it.
func (s *Server) ServeTopic(w http.ResponseWriter, r *http.Request, uri string) {
	if !reqbody.None(w, r) {
		return
	}
	if !s.admits(r) {
		http.Error(w, "Pages of this origin may not connect.", http.StatusForbidden)
		return
	}
	from := s.options.Client(r)
	ctx, refused := s.enter(from)
	if refused != nil {
		refused.answer(w)
		return
	}
	defer s.leave(from)
	// The client is in the room before it hears of it: what comes from then on is
	// for it.
	room, after, err := s.join(r.Context(), uri)
	if err != nil {
		s.sparse.Log(r.Context(), s.log, slog.LevelWarn, "WebSocket client refused, because the topic cannot be read", slog.String("topic", uri), slog.Any("error", err))
		notRead.answer(w)
		return
	}
	defer s.part(room)
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		OriginPatterns:     s.options.Origins,
		InsecureSkipVerify: s.options.AnyOrigin,
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow()
	heard, gone := listen(conn)
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(gone, cancel)()
	switch err := s.feed(both, conn, room, after); {
	case ctx.Err() != nil:
		_ = conn.Close(websocket.StatusGoingAway, "the server is going away")
	case heard.Load():
		_ = conn.Close(websocket.StatusPolicyViolation, "this channel has nothing to be told")
	case errors.Is(err, errSlow): // it would not read why, either
	case err != nil:
		s.sparse.Log(r.Context(), s.log, slog.LevelWarn, "WebSocket client sent away, because the topic cannot be read", slog.String("topic", uri), slog.Any("error", err))
		_ = conn.Close(websocket.StatusTryAgainLater, "try again later")
	}
}

// listen reads what a client sends: answers to pings, and the end. gone is done
// when there is nothing more to read, or a message, which a client has no reason
// to send. It does not end with the server: a context that is done while it is
// read by breaks a connection off, and clients would not be told why.
func listen(conn *websocket.Conn) (heard *atomic.Bool, gone context.Context) {
	heard = new(atomic.Bool)
	gone, leave := context.WithCancel(context.Background())
	go func() {
		defer leave()
		_, _, err := conn.Reader(context.Background())
		heard.Store(err == nil)
	}()
	return heard, gone
}

// A refusal is why a client cannot be connected now.
type refusal struct {
	status int
	text   string
}

var (
	notOpen    = &refusal{http.StatusServiceUnavailable, "This channel is not open yet. Try again later."}
	notRead    = &refusal{http.StatusServiceUnavailable, "This channel cannot be read. Try again later."}
	allTaken   = &refusal{http.StatusServiceUnavailable, "Too many clients are connected. Try again later."}
	shareTaken = &refusal{http.StatusTooManyRequests, "Too many connections come from your address. Close one of them, or try again later."}
)

func (e *refusal) answer(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "30")
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, e.text, e.status)
}

// errSlow ends the connection of a client that does not keep up.
var errSlow = errors.New("too slow")

// enter counts a connection in, or says why not. The context ends when Run does.
func (s *Server) enter(from string) (context.Context, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.running == nil:
		return nil, notOpen
	case s.each[from] >= s.options.PerClient:
		return nil, shareTaken
	case s.clients >= s.options.Clients:
		return nil, allTaken
	}
	s.clients++
	s.each[from]++
	return s.running, nil
}

func (s *Server) leave(from string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients--
	if s.each[from]--; s.each[from] == 0 {
		delete(s.each, from)
	}
}

// feed sends notifications until the client leaves, and then returns nil, or must
// be sent away.
func (s *Server) feed(ctx context.Context, conn *websocket.Conn, r *room, after int64) error {
	for {
		idle, cancel := context.WithTimeout(ctx, s.options.Ping)
		n, err := s.next(idle, r, after)
		quiet := idle.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case quiet:
			err = s.bounded(ctx, conn.Ping)
		case err == nil:
			after = n.Number
			err = s.bounded(ctx, func(ctx context.Context) error {
				return conn.Write(ctx, websocket.MessageText, n.Body)
			})
		}
		if err != nil {
			return err
		}
	}
}

// bounded gives a client its time for one step.
func (s *Server) bounded(ctx context.Context, step func(context.Context) error) error {
	timed, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	switch err := step(timed); {
	case err == nil, ctx.Err() != nil:
		return nil
	default:
		return errSlow // or gone, which makes no difference
	}
}

// Run sends the new notifications of log to the clients until ctx ends. It then
// disconnects all of them and returns nil. It must not be called twice at the same time.
func (s *Server) Run(ctx context.Context, log topic.Log) error {
	s.mu.Lock()
	if s.running != nil {
		s.mu.Unlock()
		return errors.New("websocket: Run is running already")
	}
	running, stop := context.WithCancel(ctx)
	s.running, s.source = running, log
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		stop()
		s.running = nil
	}()
	woken := make(chan struct{}, 1)
	var wg sync.WaitGroup
	wg.Go(func() { s.watch(running, log, woken) })
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-woken:
		case <-time.After(time.Second): // for what nobody has told of
		}
		if err := s.spread(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("notifications not read for WebSocket clients; tried again", "error", err)
		}
	}
	stop()
	wg.Wait()
	return nil
}

func (s *Server) watch(ctx context.Context, log topic.Log, woken chan<- struct{}) {
	for {
		err := log.Watch(ctx, func() {
			background.Signal(woken)
		})
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
			s.log.Warn("watching the log has ended and begins again", "error", fmt.Sprint(err))
		}
	}
}
