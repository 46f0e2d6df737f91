package sqlitedb

import (
	"sync"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
)

// The heap of SQLite serves blocks of up to 16 KiB from pages of 64 KiB, one size in each page. It
// returns a page to the system as soon as all its blocks are free.
const (
	heapPage   = 64 << 10
	heapHeader = 32 // of a page
)

// keptPages is the number of pages that stay, by the logarithm of the size of their blocks.
var keptPages = [...]int{4: 1, 5: 1, 6: 1, 7: 1, 8: 1, 9: 1, 10: 4, 11: 4, 12: 8, 13: 8, 14: 8}

// KeepHeap makes SQLite keep some pages of its heap. A transaction or an opened file needs some
// blocks of most sizes, for a moment. Without this, each would map and unmap pages, which takes
// longer than its statements. A block that stays allocated keeps its page.
var KeepHeap = sync.OnceFunc(func() {
	tls := libc.NewTLS()
	defer tls.Close()
	for log, pages := range keptPages {
		perPage := (heapPage - heapHeader) >> log
		blocks := make([]uintptr, pages*perPage)
		for i := range blocks {
			blocks[i] = libc.Xmalloc(tls, types.Size_t(1)<<log)
		}
		for i, block := range blocks {
			if i%perPage != 0 {
				libc.Xfree(tls, block)
			}
		}
	}
})
