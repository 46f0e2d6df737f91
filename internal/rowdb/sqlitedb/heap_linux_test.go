package sqlitedb

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	sqlite3 "modernc.org/sqlite/lib"
)

// TestKeepHeap: a block of each size whose page has no other users stays mapped when it is freed.
func TestKeepHeap(t *testing.T) {
	KeepHeap()
	tls := libc.NewTLS()
	defer tls.Close()
	for log, pages := range keptPages {
		if pages == 0 {
			continue
		}
		block := libc.Xmalloc(tls, types.Size_t(1)<<log)
		libc.Xfree(tls, block)
		if !mapped(t, block) {
			t.Errorf("a block of %d bytes is unmapped when it is freed", 1<<log)
		}
	}
}

// TestKeepBuffers: a buffer stays mapped when it is freed, however many blocks of its size are in use.
func TestKeepBuffers(t *testing.T) {
	KeepHeap()
	tls := libc.NewTLS()
	defer tls.Close()
	for log := minBuffer; log <= maxBuffer; log++ {
		for used := range 200 {
			size := int32(1)<<log*3/4 - int32(used)
			buffer := sqlite3.Xsqlite3_malloc(tls, size)
			sqlite3.Xsqlite3_free(tls, buffer)
			if !mapped(t, buffer) {
				t.Fatalf("with %d blocks in use, a buffer of %d bytes is unmapped when it is freed", used, size)
			}
			block := libc.Xmalloc(tls, types.Size_t(1)<<log)
			defer libc.Xfree(tls, block)
		}
	}
}

func mapped(t *testing.T, address uintptr) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
			t.Fatal(err)
		}
		if from <= address && address < to {
			return true
		}
	}
	return false
}
