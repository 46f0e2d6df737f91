// Package paging divides sets into pages and journals into windows. Stores and package
// rshttp share it, so that all divide the same state in the same way.
//
// The caller adds each resource to a [Cuts], or each change to a [Windows], in order.
// Both keep only the boundaries. Neither is safe for concurrent use.
package paging

import (
	"unicode/utf8"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

// MaxBytes is the maximum size, in bytes, of the entries of a page or window. The rest of
// rsxml.MaxBytes is for the head of the document.
const MaxBytes = rsxml.MaxBytes - 1<<16

// fill is the size, in bytes, at which a page or window ends. It is a quarter below the
// limit, so that entries can grow before the page must be split.
const fill = MaxBytes / 4 * 3

// Separator returns the shortest string s with a < s <= b that ends at a rune boundary of
// b, so that a separator of valid UTF-8 is valid UTF-8. a must be less than b.
func Separator(a, b string) string {
	n := 0
	for n < len(a) && a[n] == b[n] {
		n++
	}
	for n++; n < len(b) && !utf8.RuneStart(b[n]); n++ {
	}
	return b[:n]
}
