package sqlitedb

import (
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
	keepBuffers(tls)
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

// bufferSize is the size of the buffer that SQLite allocates, for a moment, whenever it moves rows
// between pages of the database.
const bufferSize = 4096

// buffers has free buffers. The cache of a connection takes the kept pages of this size, so each
// buffer would map and unmap a page while the number of cached pages is just a multiple of those in
// a page of the heap: an insert then takes three times as long.
var buffers struct {
	sync.Mutex
	free []uintptr
}

const maxBuffers = 64 // more are returned to the heap

// heap has the functions of SQLite's own heap.
var heap sqlite3.Tsqlite3_mem_methods

// keepBuffers puts buffers in front of the heap. This fails if the host has used SQLite before:
// then buffers are not kept.
func keepBuffers(tls *libc.TLS) {
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
	if size == bufferSize {
		buffers.Lock()
		defer buffers.Unlock()
		if n := len(buffers.free); n > 0 {
			block := buffers.free[n-1]
			buffers.free = buffers.free[:n-1]
			return block
		}
	}
	return call[func(*libc.TLS, int32) uintptr](heap.FxMalloc)(tls, size)
}

func free(tls *libc.TLS, block uintptr) {
	if call[func(*libc.TLS, uintptr) int32](heap.FxSize)(tls, block) == bufferSize {
		buffers.Lock()
		defer buffers.Unlock()
		if len(buffers.free) < maxBuffers {
			buffers.free = append(buffers.free, block)
			return
		}
	}
	call[func(*libc.TLS, uintptr)](heap.FxFree)(tls, block)
}

// function returns the address of f as SQLite, translated to Go, stores functions. f must not
// be a closure, which might be collected.
func function(f any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&f))[1] }

// call returns the function at an address of function.
func call[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&address)) }
