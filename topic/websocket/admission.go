package websocket

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

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

// enter counts a connection, or refuses it.
func (s *Server) enter(from string) (*run, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.running == nil:
		return nil, notOpen
	case !s.each.Take(from):
		return nil, shareTaken
	case s.clients >= s.options.Clients:
		s.each.Return(from)
		return nil, allTaken
	}
	s.clients++
	s.running.connections.Add(1)
	return s.running, nil
}

func (s *Server) leave(from string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients--
	s.each.Return(from)
}
