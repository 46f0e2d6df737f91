// Package crc joins checksums of texts.
package crc

import "hash/crc32"

// Join returns the CRC-32 of the concatenation of two texts from their CRC-32s a and
// b and the length of the second in bytes. It multiplies a by x to the power of the
// number of bits in the second, modulo the polynomial.
func Join(a, b uint32, bytes int64) uint32 {
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

// multiply multiplies two polynomials modulo the polynomial of CRC-32.
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
