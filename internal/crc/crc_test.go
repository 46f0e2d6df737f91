package crc_test

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/crc"
)

func ExampleJoin() {
	a, b := []byte("resource"), []byte("sync")
	joined := crc.Join(crc32.ChecksumIEEE(a), crc32.ChecksumIEEE(b), int64(len(b)))
	fmt.Println(joined == crc32.ChecksumIEEE([]byte("resourcesync")))
	// Output: true
}

func TestJoin(t *testing.T) {
	text := make([]byte, 5000)
	for i := range text {
		text[i] = byte(rand.IntN(256))
	}
	want := crc32.ChecksumIEEE(text)
	for _, n := range []int{0, 1, 7, 2500, 4999, 5000} {
		if got := crc.Join(crc32.ChecksumIEEE(text[:n]), crc32.ChecksumIEEE(text[n:]), int64(5000-n)); got != want {
			t.Errorf("divided at %d: %08x, want %08x", n, got, want)
		}
	}
}
