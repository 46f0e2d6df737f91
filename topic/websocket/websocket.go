// Package websocket serves notification channels by WebSockets, as section 6 of the 0.8
// draft of the ResourceSync notification specification describes: each notification of a
// topic is a text message to each connected client.
//
// It is for clients without a callback, such as browsers. Notifications that a client misses
// while it is not connected are not repeated. The from attribute of the next Change
// Notification shows the gap, and the Change List has the changes. Other clients
// should subscribe at a hub.
package websocket

import (
	"context"
	"errors"
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

// Options are the optional arguments of [New].
type Options struct {
	// Origins are the hosts whose web pages may connect: patterns for [path.Match]
	// such as "*.example.org". If empty, only pages of the requested host may.
	// Clients that are not browsers send no origin and may always connect.
	Origins []string

	// AnyOrigin lets the pages of every host connect. Notifications are public, so
	// this reveals nothing, but the pages of others can exhaust Clients.
	AnyOrigin bool

	// Clients is the maximum number of connections, to all topics together; others are
	// answered 503. If zero, 1,000 is used.
	Clients int

	// PerClient is the maximum number of connections of one client; more are answered
	// 429. If zero, 100 is used.
	PerClient int

	// Client identifies the client of a request for PerClient. Behind a proxy it must
	// read a header that the proxy sets; otherwise all clients are one. If nil, the
	// address of the connection is used, and of an IPv6 address the first 64 bits.
	Client func(r *http.Request) string

	// Ping is the interval of pings on an idle connection. If zero, 30 seconds is
	// used.
	Ping time.Duration

	// Timeout is the maximum time for a client to accept a message or to answer a ping
	// before it is disconnected. If zero, 10 seconds is used.
	Timeout time.Duration

	// Logger receives errors, which clients do not see. If nil, slog.Default() is
	// used.
	Logger *slog.Logger
}

// A Server sends the notifications of a log to WebSocket clients. It is a
// [topic.Feed], for the field WebSocket of rshttp.Options, and safe for concurrent use.
type Server struct {
	options Options
	log     *slog.Logger
	sparse  sparse.Log // for lines that clients can cause

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

// Clients returns the number of connections.
func (s *Server) Clients() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clients
}

// admits reports whether the page that sent r may connect. With a list of origins, it
// ignores the host of the request: a page that has rebound its name to the address of the
// server (DNS rebinding) also names that host.
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

// ServeTopic connects a client to a topic until one side closes the connection or
// [Server.Run] ends. It hijacks the connection: the time-outs of the http.Server no longer
// apply, and Shutdown does not wait for it.
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
	// Join before accepting the connection, so that the client misses no later
	// notification.
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
		_ = conn.Close(websocket.StatusPolicyViolation, "this channel accepts no messages")
	case errors.Is(err, errSlow): // it would not read why, either
	case err != nil:
		s.sparse.Log(r.Context(), s.log, slog.LevelWarn, "WebSocket client disconnected, because the topic cannot be read", slog.String("topic", uri), slog.Any("error", err))
		_ = conn.Close(websocket.StatusTryAgainLater, "try again later")
	}
}

// listen reads answers to pings and the end of the connection. gone is done at the end, or
// when the client sends a message, which the protocol does not allow. listen does not end
// with the server: a read with a context that is done aborts the connection, and the client
// would receive no reason.
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

// A refusal is the response to a client that cannot be connected now.
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

// enter counts a connection, or refuses it. The context ends when Run does.
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

// feed sends notifications until the client leaves, and then returns nil. An error means that
// the client must be disconnected.
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

// bounded runs one step with the time limit of a client.
func (s *Server) bounded(ctx context.Context, step func(context.Context) error) error {
	timed, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	switch err := step(timed); {
	case err == nil, ctx.Err() != nil:
		return nil
	default:
		return errSlow // or the client has left
	}
}

// Run sends the new notifications of log to the clients until ctx ends. It then
// disconnects all of them and returns nil. It fails if it is already running.
func (s *Server) Run(ctx context.Context, log topic.Log) error {
	s.mu.Lock()
	if s.running != nil {
		s.mu.Unlock()
		return errors.New("websocket: Run is already running")
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
	wg.Go(func() {
		background.Watch(running, log.Watch, func() { background.Signal(woken) },
			s.log, "watching the log has ended; restarting")
	})
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-woken:
		case <-time.After(time.Second): // in case a wake was missed
		}
		if err := s.spread(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("notifications could not be read for WebSocket clients; retrying", "error", err)
		}
	}
	stop()
	wg.Wait()
	return nil
}
