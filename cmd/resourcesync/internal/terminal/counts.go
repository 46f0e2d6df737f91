package terminal

import (
	"github.com/dustin/go-humanize"
)

// Count returns a number of things as text.
func Count[N int | int64 | uint64](n N, what string) string {
	return humanize.Comma(int64(n)) + " " + what
}

// Bytes returns a number of bytes in a unit.
func Bytes(n int64) string { return humanize.Bytes(uint64(max(0, n))) }
