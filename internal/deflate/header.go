package deflate

// A header is what a block says of its codes: the lengths of the codes of all
// symbols, in a code of their own (RFC 1951, section 3.2.7).
type header struct {
	numLiterals  int // symbols with a code, and those before them
	numDistances int
	numLengths   int
	runs         []run
	buf          [numLiterals + numDistances]run
	code         [numLengths]code
	size         int // bits
}

// A run is a length, or a number of them that are 0 or the same as before.
type run struct{ symbol, extra uint8 }

// The symbols of runs, and how many bits follow them.
const (
	sameAgain = 16 // 3 to 6 times
	fewZeros  = 17 // 3 to 10
	manyZeros = 18 // 11 to 138
)

var runExtra = [numLengths]uint8{sameAgain: 2, fewZeros: 3, manyZeros: 7}

// lengthOrder is the order in which the lengths of the codes for runs are written.
var lengthOrder = [numLengths]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// make makes the header of a block of c.
func (h *header) make(c *codes) {
	h.numLiterals = used(c.literals[:], endOfBlock+1)
	h.numDistances = used(c.distances[:], 1)
	var all [numLiterals + numDistances]uint8
	lengths := all[:0]
	for _, c := range c.literals[:h.numLiterals] {
		lengths = append(lengths, c.n)
	}
	for _, c := range c.distances[:h.numDistances] {
		lengths = append(lengths, c.n)
	}
	h.runs = h.buf[:0]
	var counts [numLengths]uint32
	for i := 0; i < len(lengths); {
		n := 1
		for i+n < len(lengths) && lengths[i+n] == lengths[i] {
			n++
		}
		r := run{symbol: lengths[i]}
		switch {
		case r.symbol == 0 && n >= 11:
			n = min(n, 138)
			r = run{manyZeros, uint8(n - 11)}
		case r.symbol == 0 && n >= 3:
			r = run{fewZeros, uint8(n - 3)}
		case r.symbol != 0 && i > 0 && lengths[i-1] == r.symbol && n >= 3:
			n = min(n, 6)
			r = run{sameAgain, uint8(n - 3)}
		default:
			n = 1
		}
		h.runs = append(h.runs, r)
		counts[r.symbol]++
		i += n
	}
	makeCode(h.code[:], counts[:], maxLengthBits)
	h.numLengths = numLengths
	for h.numLengths > 4 && h.code[lengthOrder[h.numLengths-1]].n == 0 {
		h.numLengths--
	}
	h.size = 5 + 5 + 4 + 3*h.numLengths
	for symbol, n := range counts {
		h.size += int(n) * int(h.code[symbol].n+runExtra[symbol])
	}
}

// used returns how many symbols there are up to the last that has a code, and at
// least least.
func used(c []code, least int) int {
	n := len(c)
	for n > least && c[n-1].n == 0 {
		n--
	}
	return n
}

func (h *header) write(w *bitWriter) {
	w.add(uint64(h.numLiterals-257), 5)
	w.add(uint64(h.numDistances-1), 5)
	w.add(uint64(h.numLengths-4), 4)
	for _, symbol := range lengthOrder[:h.numLengths] {
		w.flush()
		w.add(uint64(h.code[symbol].n), 3)
	}
	for _, r := range h.runs {
		w.flush()
		w.addCode(h.code[r.symbol])
		w.add(uint64(r.extra), uint(runExtra[r.symbol]))
	}
	w.flush()
}
