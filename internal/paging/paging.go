// Package paging divides sets into pages and journals into windows. Stores and
// the fallback of package rshttp share it, so that the same state is divided in
// the same way wherever that happens.
//
// A builder is fed every resource, or every change, in order; it remembers only
// the boundaries. Neither type is safe for concurrent use.
package paging

import (
	"unicode/utf8"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

// MaxBytes is the size in bytes that the entries of one page or window may
// reach; what remains to rsxml.MaxBytes is for the head of the document.
const MaxBytes = rsxml.MaxBytes - 1<<16

// fill is the size in bytes at which a builder ends a page or a window, a
// quarter below the limit so that entries may grow before it must be divided
// again.
const fill = MaxBytes / 4 * 3

// Separator returns the shortest string s with a < s <= b. It ends on a rune's
// boundary of b, so that a separator of texts is a text. a must be less than b.
func Separator(a, b string) string {
	n := 0
	for n < len(a) && a[n] == b[n] {
		n++
	}
	for n++; n < len(b) && !utf8.RuneStart(b[n]); n++ {
	}
	return b[:n]
}
