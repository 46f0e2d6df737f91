package client

import "sync"

// Shares counts how many units of a limited resource each client holds. It is safe
// for concurrent use.
type Shares struct {
	limit int

	mu   sync.Mutex
	held map[string]int // units per client; no value is zero
}

// NewShares returns Shares of at most limit units per client.
func NewShares(limit int) *Shares {
	return &Shares{limit: limit, held: make(map[string]int)}
}

// Take gives a client a unit. It reports false, and does nothing, if the client has
// reached its limit.
func (s *Shares) Take(client string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[client] >= s.limit {
		return false
	}
	s.held[client]++
	return true
}

// Return releases a unit that Take gave to the client.
func (s *Shares) Return(client string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[client]--; s.held[client] == 0 {
		delete(s.held, client)
	}
}
