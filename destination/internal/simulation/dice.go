package simulation

import (
	"hash/fnv"
	"math/rand/v2"
)

// roll returns random numbers that are determined by the seed and a purpose, not by the order
// of the calls.
func (p *Params) roll(what string, n int) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(what))
	return rand.New(rand.NewPCG(p.Seed, h.Sum64()+uint64(n)*0x9e3779b97f4a7c15))
}

// happens reports whether a fault with this rate hits the nth occurrence of its target.
func (p *Params) happens(rate int, fault, what string, n int) bool {
	return rate > 0 && p.roll(fault+" "+what, n).IntN(1000) < rate
}
