package terminal

import (
	"github.com/dustin/go-humanize"
)

// Count formats a number of things.
func Count[N int | int64 | uint64](n N, what string) string {
	return humanize.Comma(int64(n)) + " " + what
}

// Bytes formats a number of bytes in a suitable unit.
func Bytes(n int64) string { return humanize.Bytes(uint64(max(0, n))) }
