package deflate

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Symbols of the alphabets of RFC 1951, section 3.2.5.
const (
	endOfBlock   = 256
	numLiterals  = 286 // literals, the end and lengths
	numDistances = 30
	numLengths   = 19 // the lengths of codes, section 3.2.7

	minLength = 3 // of a match, for the alphabet

	maxBits       = 15 // of a code
	maxLengthBits = 7  // of a code for lengths of codes
)

// codes are the codes of one block.
type codes struct {
	literals  [numLiterals]code
	distances [numDistances]code
}

// write appends a block of the sequences of text.
func (e *Encoder) write(dst, text []byte) []byte {
	c, h := &e.code, &e.header
	makeCode(c.literals[:], e.literals[:], maxBits)
	makeCode(c.distances[:], e.distances[:], maxBits)
	h.make(c)
	size := 3 + h.size + e.size(c)
	fixed := 3 + e.size(&fixedCodes)
	if fixed < size {
		size, c = fixed, &fixedCodes
	}
	n := len(dst)
	dst = slices.Grow(dst, size/8+16)
	w := bitWriter{dst[:cap(dst)], n, e.bits, e.nbits}
	if c == &fixedCodes {
		w.add(1<<1, 3)
	} else {
		w.add(2<<1, 3)
		h.write(&w)
	}
	for _, s := range e.sequences {
		literals := text[:s.literals]
		for ; len(literals) >= 3; literals = literals[3:] {
			w.addCode(c.literals[literals[0]])
			w.addCode(c.literals[literals[1]])
			w.addCode(c.literals[literals[2]])
			w.flush()
		}
		for _, b := range literals {
			w.addCode(c.literals[b])
		}
		w.flush()
		text = text[int(s.literals)+int(s.length):]
		if s.length > 0 {
			l := &lengthSymbols[s.length-minLength]
			w.addCode(c.literals[l.symbol])
			w.add(uint64(l.extra), uint(l.n))
			symbol, n := distanceSymbol(int(s.distance))
			w.addCode(c.distances[symbol])
			w.add(uint64(s.distance-1)&(1<<n-1), n)
			w.flush()
		}
	}
	w.addCode(c.literals[endOfBlock])
	w.flush()
	e.bits, e.nbits = w.bits, w.nbits
	return w.dst[:w.n]
}

// size returns the bits that the symbols counted take in c.
func (e *Encoder) size(c *codes) (n int) {
	for i, count := range e.literals {
		n += int(count) * int(c.literals[i].n)
	}
	for i, count := range e.distances {
		n += int(count) * int(c.distances[i].n)
	}
	for i, l := range lengthExtra {
		n += int(e.literals[endOfBlock+1+i]) * int(l)
	}
	for i, count := range e.distances {
		n += int(count) * max(0, i/2-1)
	}
	return n
}

// A bitWriter writes bits into dst from n on. There must be room for them and 8
// bytes more.
type bitWriter struct {
	dst   []byte
	n     int
	bits  uint64
	nbits uint
}

// add adds n bits. Between two flushes there is room for 56: three literals, or a
// length and a distance with what follows them.
func (w *bitWriter) add(bits uint64, n uint) {
	w.bits |= bits << (w.nbits & 63)
	w.nbits += n
}

func (w *bitWriter) addCode(c code) { w.add(uint64(c.bits), uint(c.n)) }

// flush writes whole bytes and leaves less than 8 bits.
func (w *bitWriter) flush() {
	binary.LittleEndian.PutUint64(w.dst[w.n:], w.bits)
	w.n += int(w.nbits / 8)
	w.bits >>= w.nbits &^ 7 & 63
	w.nbits &= 7
}

// lengthExtra is how many bits follow the symbols from 257 on.
var lengthExtra = [29]uint8{8: 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0}

// lengthSymbols has the symbol of each length of a match from minLength on, and what
// follows it.
var lengthSymbols = func() (t [maxMatch - minLength + 1]struct {
	symbol uint16
	extra  uint8
	n      uint8
}) {
	length := 0
	for i, n := range lengthExtra {
		for extra := range 1 << n {
			if length+extra < len(t) {
				t[length+extra].symbol = uint16(endOfBlock + 1 + i)
				t[length+extra].extra = uint8(extra)
				t[length+extra].n = n
			}
		}
		length += 1 << n
		if i == len(lengthExtra)-2 {
			length = maxMatch - minLength // has a symbol of its own
		}
	}
	return t
}()

// distanceSymbol returns the symbol of a distance, and how many of its lowest bits
// follow it.
func distanceSymbol(distance int) (symbol int, n uint) {
	d := uint(distance - 1)
	if d < 4 {
		return int(d), 0
	}
	n = uint(bits.Len(d)) - 2
	return int(2*n + d>>n), n
}
