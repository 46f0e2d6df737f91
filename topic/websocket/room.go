package websocket

import (
	"context"
	"sync"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/topic"
)

// recent is the number of notifications of a topic kept in memory for all of its clients.
// Clients that are further behind read the log.
const recent = 16

// readBytes is the maximum size of the notifications read from the log at once.
const readBytes = 8 << 20

// A room is the clients of a topic. Each reads at its own pace.
type room struct {
	uri     string
	log     topic.Log
	clients int // guarded by Server.mu

	mu   sync.Mutex
	last int64                        // number of the newest notification; 0 if there is none
	ring [recent]pushlog.Notification // by Number modulo recent
	news chan struct{}                // closed when last moves
}

// join adds a client to the room of a topic and returns its cursor: the number of the newest
// notification.
func (s *Server) join(ctx context.Context, uri string) (r *room, after int64, err error) {
	s.mu.Lock()
	r = s.rooms[uri]
	if r == nil {
		r = &room{uri: uri, log: s.source, last: -1, news: make(chan struct{})}
		s.rooms[uri] = r
	}
	r.clients++
	s.mu.Unlock()

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last < 0 {
		state, err := r.log.State(ctx, uri)
		if err != nil {
			s.part(r)
			return nil, 0, err
		}
		r.last = state.Number
	}
	return r, r.last, nil
}

// part removes a client from a room.
func (s *Server) part(r *room) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.clients--; r.clients == 0 {
		delete(s.rooms, r.uri)
	}
}

// next waits for the notification after the cursor after, and returns it.
func (s *Server) next(ctx context.Context, r *room, after int64) (pushlog.Notification, error) {
	for {
		r.mu.Lock()
		last, n, news := r.last, r.ring[(after+1)%recent], r.news
		r.mu.Unlock()
		switch {
		case after == last:
			select {
			case <-ctx.Done():
				return pushlog.Notification{}, ctx.Err()
			case <-news:
				continue
			}
		case n.Number == after+1:
			return n, nil
		}
		old, err := r.log.Read(ctx, r.uri, after, 1, 0)
		if err != nil {
			return pushlog.Notification{}, err
		}
		if len(old) == 1 {
			return old[0], nil
		}
		after = last // the log has dropped them
	}
}

// spread reads the new notifications of all topics with clients.
func (s *Server) spread(ctx context.Context) error {
	s.mu.Lock()
	rooms := make([]*room, 0, len(s.rooms))
	for _, r := range s.rooms {
		rooms = append(rooms, r)
	}
	s.mu.Unlock()
	for _, r := range rooms {
		for more := true; more; {
			var err error
			if more, err = s.spreadRoom(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// spreadRoom reads a few new notifications of a topic, and reports whether there
// may be more.
func (s *Server) spreadRoom(ctx context.Context, r *room) (more bool, err error) {
	r.mu.Lock()
	last := r.last
	r.mu.Unlock()
	if last < 0 {
		return false, nil // the first client will read the state itself
	}
	news, err := r.log.Read(ctx, r.uri, last, recent/2, readBytes)
	if err != nil || len(news) == 0 {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range news {
		r.ring[n.Number%recent] = n
		r.last = n.Number
	}
	close(r.news)
	r.news = make(chan struct{})
	return true, nil
}
