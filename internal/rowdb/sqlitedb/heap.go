package sqlitedb

import (
	"math/bits"
	"sync"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	sqlite3 "modernc.org/sqlite/lib"
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

// buffers has free blocks of the larger sizes. SQLite allocates some for a moment: one whenever it moves
// rows between pages of the database, and one for each program of a trigger. The caches of connections
// take the kept pages of these sizes, so each such block would map and unmap a page while the number of
// blocks in use is just a multiple of those in a page: an insert then takes three times as long. A
// cache frees all its blocks after a commit of another connection, and soon needs them again.
var buffers = [...]bufferList{{most: 64}, {most: 256}, {most: 16}}

const (
	minBuffer   = 12 // the logarithm of the smallest size
	maxBuffer   = minBuffer + len(buffers) - 1
	blockHeader = 8 // in which SQLite stores the size of the block
)

// A bufferList has free blocks of one size.
type bufferList struct {
	sync.Mutex
	free []uintptr
	most int // more are returned to the heap
}

// heap has the functions of SQLite's own heap.
var heap sqlite3.Tsqlite3_mem_methods

// init puts the buffers in front of the heap. SQLite refuses that once it is in use, and hosts open their
// connections before a store.
func init() {
	tls := libc.NewTLS()
	defer tls.Close()
	list := libc.NewVaListN(1)
	defer libc.Xfree(tls, list)
	configure := func(option int32, m *sqlite3.Tsqlite3_mem_methods) bool {
		return sqlite3.Xsqlite3_config(tls, option, libc.VaList(list, uintptr(unsafe.Pointer(m)))) == sqlite3.SQLITE_OK
	}
	if !configure(sqlite3.SQLITE_CONFIG_GETMALLOC, &heap) {
		return
	}
	buffered = heap
	buffered.FxMalloc, buffered.FxFree = function(malloc), function(free)
	configure(sqlite3.SQLITE_CONFIG_MALLOC, &buffered)
}

var buffered sqlite3.Tsqlite3_mem_methods // here, because SQLite reads it by its address

func malloc(tls *libc.TLS, size int32) uintptr {
	if l, whole := buffersOf(size); l != nil {
		l.Lock()
		defer l.Unlock()
		if n := len(l.free); n > 0 {
			block := l.free[n-1]
			l.free = l.free[:n-1]
			return block
		}
		size = whole
	}
	return call[func(*libc.TLS, int32) uintptr](heap.FxMalloc)(tls, size)
}

func free(tls *libc.TLS, block uintptr) {
	size := call[func(*libc.TLS, uintptr) int32](heap.FxSize)(tls, block)
	if l, whole := buffersOf(size); l != nil && size == whole {
		l.Lock()
		defer l.Unlock()
		if len(l.free) < l.most {
			l.free = append(l.free, block)
			return
		}
	}
	call[func(*libc.TLS, uintptr)](heap.FxFree)(tls, block)
}

// buffersOf returns the list for blocks of this size, and the size of all its blocks. There may be
// none.
func buffersOf(size int32) (list *bufferList, whole int32) {
	if log := bits.Len32(uint32(size + blockHeader - 1)); minBuffer <= log && log <= maxBuffer {
		return &buffers[log-minBuffer], 1<<log - blockHeader
	}
	return nil, 0
}

// function returns the address of f as SQLite, translated to Go, stores functions. f must not
// be a closure, which might be collected.
func function(f any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&f))[1] }

// call returns the function at an address of function.
func call[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&address)) }
