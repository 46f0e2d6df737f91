package deflate

import (
	"math/bits"
	"slices"
)

// A code is what a symbol is written as: n bits, the first in the lowest place.
// If n is 0, the symbol is not used.
type code struct {
	bits uint16
	n    uint8
}

// makeCode makes the code of the least size for symbols that are used as often as
// counts says, none longer than most.
func makeCode(code []code, counts []uint32, most int) {
	clear(code)
	var buf [numLiterals]uint64
	leaves := buf[:0]
	for symbol, n := range counts {
		if n > 0 {
			leaves = append(leaves, uint64(n)<<16|uint64(symbol))
		}
	}
	if len(leaves) == 1 {
		code[leaves[0]&0xffff].n = 1 // not 0, which says that it is not used
		return
	}
	slices.Sort(leaves)
	for !limited(code, leaves, most) {
		// The more alike counts are, the shorter is the longest code.
		for i, leaf := range leaves {
			leaves[i] = (leaf>>16/2+1)<<16 | leaf&0xffff
		}
	}
	assign(code)
}

// limited gives code the lengths of Huffman's code for leaves, which are sorted:
// counts above symbols. It reports whether none is longer than most.
func limited(code []code, leaves []uint64, most int) bool {
	// Of the two rarest nodes one is made, until there is one left: leaves
	// first, and then nodes that were made in the order of their counts.
	var counts [numLiterals]uint64
	var parents [2 * numLiterals]uint16
	leaf, node := 0, 0
	made := 0
	take := func(parent int) uint64 {
		if leaf < len(leaves) && (node == made || leaves[leaf]>>16 <= counts[node]) {
			parents[leaf] = uint16(parent)
			leaf++
			return leaves[leaf-1] >> 16
		}
		parents[len(leaves)+node] = uint16(parent)
		node++
		return counts[node-1]
	}
	for made < len(leaves)-1 {
		n := take(len(leaves) + made)
		counts[made] = n + take(len(leaves)+made)
		made++
	}
	var depths [2 * numLiterals]uint8
	for i := len(leaves) + made - 2; i >= 0; i-- {
		depths[i] = depths[parents[i]] + 1
	}
	for i, leaf := range leaves {
		if int(depths[i]) > most {
			return false
		}
		code[leaf&0xffff].n = depths[i]
	}
	return true
}

// assign makes the canonical code of the lengths in code (RFC 1951, section
// 3.2.2).
func assign(code []code) {
	var counts, next [maxBits + 1]uint16
	for _, c := range code {
		if c.n > 0 {
			counts[c.n]++
		}
	}
	for n := 1; n <= maxBits; n++ {
		next[n] = (next[n-1] + counts[n-1]) << 1
	}
	for i := range code {
		if c := &code[i]; c.n > 0 {
			c.bits = bits.Reverse16(next[c.n]) >> (16 - c.n)
			next[c.n]++
		}
	}
}

// fixedCodes are those of section 3.2.6.
var fixedCodes = func() (c codes) {
	var all [288]code
	for i := range all {
		switch {
		case i < 144, i >= 280:
			all[i].n = 8
		case i < 256:
			all[i].n = 9
		default:
			all[i].n = 7
		}
	}
	assign(all[:])
	copy(c.literals[:], all[:])
	for i := range c.distances {
		c.distances[i] = code{bits.Reverse16(uint16(i)) >> 11, 5}
	}
	return c
}()
