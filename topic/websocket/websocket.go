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
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/client"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/outgoing"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/topiclog"
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

// cacheBytes is the maximum total size of the notifications in memory.
const cacheBytes = 32 << 20

// A Server sends the notifications of a log to WebSocket clients. It is a
// [topic.Feed], for the field WebSocket of rshttp.Options, and safe for concurrent use.
type Server struct {
	options Options
	sparse  sparse.Log     // for lines that clients can cause
	each    *client.Shares // connections of each client

	mu      sync.Mutex
	clients int
	running *run // nil unless Run is
}

var _ topic.Feed = (*Server)(nil)

// A run is a call of Run.
type run struct {
	ctx   context.Context // done when Run ends
	log   pushlog.Log
	cache *outgoing.Cache // of log
	bell  background.Bell // rings when there may be new notifications

	connections sync.WaitGroup // that have entered
}

func (r *run) wake() {
	r.cache.Wake()
	r.bell.Ring()
}

// New returns a Server. opts may be nil.
func New(opts *Options) (*Server, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Clients < 0 || o.PerClient < 0 || o.Ping < 0 || o.Timeout < 0 {
		return nil, errors.New("websocket: Clients, PerClient, Ping and Timeout must not be negative")
	}
	o.Clients = cmp.Or(o.Clients, 1_000)
	o.PerClient = cmp.Or(o.PerClient, 100)
	o.Ping = cmp.Or(o.Ping, 30*time.Second)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Client == nil {
		o.Client = client.Of
	}
	return &Server{options: o, each: client.NewShares(o.PerClient)}, nil
}

// Clients returns the number of connections.
func (s *Server) Clients() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clients
}

// ServeTopic connects a client to a topic until one side closes the connection or
// [Server.Run] ends. It hijacks the connection and returns: the time-outs of the http.Server
// no longer apply, Shutdown does not wait for the connection, and it holds nothing of the
// request or of its handler, such as a Source that another one replaces meanwhile.
func (s *Server) ServeTopic(w http.ResponseWriter, r *http.Request, uri string) {
	if !reqbody.None(w, r) {
		return
	}
	if !s.admits(r) {
		http.Error(w, "Pages of this origin may not connect.", http.StatusForbidden)
		return
	}
	from := s.options.Client(r)
	running, refused := s.enter(from)
	if refused != nil {
		refused.answer(w)
		return
	}
	leave := func() {
		s.leave(from)
		running.connections.Done()
	}
	// Read the cursor before accepting the connection, so that the client misses no
	// later notification.
	state, err := running.log.State(r.Context(), uri)
	if err != nil {
		leave()
		s.sparse.Log(r.Context(), s.options.Logger, slog.LevelWarn, "WebSocket client refused, because the topic cannot be read", slog.String("topic", uri), slog.Any("error", err))
		notRead.answer(w)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		OriginPatterns:     s.options.Origins,
		InsecureSkipVerify: s.options.AnyOrigin,
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		leave()
		return // Accept has answered
	}
	go func() {
		defer leave()
		s.serve(conn, running, strings.Clone(uri), state.Number)
	}()
}

// serve sends the notifications of a topic after the number taken to a connection, until one
// side closes it or Run ends.
func (s *Server) serve(conn *websocket.Conn, running *run, uri string, taken int64) {
	defer conn.CloseNow()
	ctx, cancel := context.WithCancel(running.ctx)
	defer cancel()
	// A client that sends a message is disconnected. The library answers a message beyond the limit
	// without waiting for the rest of it, which may never come.
	conn.SetReadLimit(0)
	go func() {
		defer cancel()
		// A read with a context that ends with the server would abort the connection: the
		// client would receive no reason.
		_, _, _ = conn.Read(context.Background())
	}()
	s.feed(ctx, conn, running, uri, taken)
	if running.ctx.Err() != nil {
		_ = conn.Close(websocket.StatusGoingAway, "the server is going away")
	}
	// Otherwise, the client has left, or is too slow to read why it is disconnected.
}

// feed sends the notifications of a topic after the number taken, until ctx ends or the client
// does not keep up.
func (s *Server) feed(ctx context.Context, conn *websocket.Conn, running *run, uri string, taken int64) {
	news := make(chan struct{}, 1)
	go running.bell.Listen(ctx, func() { background.Signal(news) })
	ping := time.NewTimer(s.options.Ping)
	defer ping.Stop()
	for {
		m, err := running.cache.Next(ctx, uri, taken, false)
		send := conn.Ping
		switch {
		case ctx.Err() != nil:
			return
		case m != nil:
			running.cache.Put(m) // a slow client must not fill the cache
			taken = m.Number
			send = func(ctx context.Context) error { return conn.Write(ctx, websocket.MessageText, m.Body) }
		default:
			if err != nil {
				s.sparse.Log(ctx, s.options.Logger, slog.LevelWarn, "notifications could not be read for WebSocket clients; retrying",
					slog.String("topic", uri), slog.Any("error", err))
			}
			select {
			case <-ctx.Done():
				return
			case <-news:
				continue
			case <-ping.C:
			}
		}
		if err := s.bounded(ctx, send); err != nil {
			return
		}
		ping.Reset(s.options.Ping)
	}
}

// bounded runs one step with the time limit of a client.
func (s *Server) bounded(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	return step(ctx)
}

// Run sends the new notifications of a log to the clients until ctx ends. It then
// disconnects all of them, for which they have about ten seconds, and returns nil. It fails
// if it is already running.
func (s *Server) Run(ctx context.Context, of topiclog.Log) error {
	log := pushlog.Unseal(of)
	if log == nil {
		return errors.New("websocket: the log is missing: topiclog.NewMemory returns the simplest")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := &run{ctx: ctx, log: log, cache: outgoing.NewCache(log, cacheBytes, nil)}
	s.mu.Lock()
	if s.running != nil {
		s.mu.Unlock()
		return errors.New("websocket: Run is already running")
	}
	s.running = r
	s.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() {
		background.Watch(ctx, log.Watch, r.wake, s.options.Logger, "watching the log has ended; restarting")
	})
	for background.Sleep(ctx, time.Second) == nil {
		r.wake() // in case a wake was missed, or reading has failed
	}
	wg.Wait()
	s.mu.Lock()
	s.running = nil
	s.mu.Unlock()
	r.connections.Wait()
	return nil
}
