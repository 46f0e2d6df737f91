package virtualzip

import (
	"context"
	"hash/crc32"
	"io"
	"sync"
)

// bufferSize is the size of one read or write that the caller does not determine. A read
// that begins within bufferSize of an entry's beginning starts at the beginning, which
// costs well under a millisecond.
const bufferSize = 256 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// Checksum opens content with open, which is like [Entry.Open], reads it once, and
// returns the Size and CRC32 of an Entry for it. Errors are those of open, of reading,
// and of ctx.
func Checksum(ctx context.Context, open func(context.Context) (io.ReadCloser, error)) (size int64, crc uint32, err error) {
	src, err := open(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer src.Close()
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	for {
		n, err := src.Read(buf[:])
		size += int64(n)
		crc = crc32.Update(crc, crc32.IEEETable, buf[:n])
		if err == io.EOF {
			return size, crc, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, 0, err
		}
	}
}

// JoinCRC returns the CRC-32 of the concatenation of two texts from their CRC-32s a and
// b and the length of the second in bytes. It multiplies a by x to the power of the
// number of bits in the second, modulo the polynomial.
func JoinCRC(a, b uint32, bytes int64) uint32 {
	// The lowest bit is the coefficient of the highest power.
	const one = 1 << 31
	power, factor := uint32(one), uint32(one>>8) // factor is x^8, x^16, x^32 …
	for ; bytes > 0; bytes >>= 1 {
		if bytes&1 != 0 {
			power = multiply(power, factor)
		}
		factor = multiply(factor, factor)
	}
	return multiply(a, power) ^ b
}

// multiply multiplies two polynomials modulo that of CRC-32.
func multiply(a, b uint32) (product uint32) {
	for ; a != 0; a <<= 1 {
		if a&(1<<31) != 0 {
			product ^= b
		}
		// b times x.
		carry := b & 1
		b >>= 1
		if carry != 0 {
			b ^= crc32.IEEE
		}
	}
	return product
}
