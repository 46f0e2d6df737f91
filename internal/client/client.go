// Package client identifies clients, for limits per client.
package client

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// Of identifies the client that sent r by the remote address of its connection,
// without the port. Of an IPv6 address it uses the first 64 bits, because one client
// usually has all addresses of such a network. Behind a proxy, all clients are one.
func Of(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	return OfAddr(a)
}

// OfAddr identifies the client with the address a, which must be valid, as [Of] does.
func OfAddr(a netip.Addr) string {
	if a = a.Unmap().WithZone(""); a.Is4() {
		return a.String()
	}
	return netip.PrefixFrom(a, 64).Masked().String()
}

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
