package client

import "sync"

// Shares count what each client has of something that there is little of. They are
// safe for concurrent use.
type Shares struct {
	most int

	mu sync.Mutex
	of map[string]int // none is zero
}

// NewShares returns Shares of at most most for each client.
func NewShares(most int) *Shares {
	return &Shares{most: most, of: make(map[string]int)}
}

// Take gives a client one more, and reports whether it could.
func (s *Shares) Take(client string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[client] >= s.most {
		return false
	}
	s.of[client]++
	return true
}

// Return takes back one that a client was given.
func (s *Shares) Return(client string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[client]--; s.of[client] == 0 {
		delete(s.of, client)
	}
}
