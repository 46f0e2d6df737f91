package needs

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"
)

// Ports below those from which systems choose ports for connections, and for listeners at port
// 0. Each process has a block of them, and gives each only once: a program that a test starts
// again finds its address free.
const (
	firstPort = 12_000
	blockSize = 1_000
	blocks    = 20
)

var (
	addresses sync.Mutex
	ports     []int // not given yet
)

// Address returns an address of this computer at which nothing listens, for a program that has
// to be given one. No other test of this process gets it.
func Address(t testing.TB) string {
	t.Helper()
	addresses.Lock()
	defer addresses.Unlock()
	for {
		if len(ports) == 0 {
			ports = rand.Perm(blockSize)
		}
		port := firstPort + os.Getpid()%blocks*blockSize + ports[0]
		ports = ports[1:]
		address := fmt.Sprintf("127.0.0.1:%d", port)
		if l, err := net.Listen("tcp", address); err == nil {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return address
		}
	}
}

// AwaitFree waits until nothing listens at address, where a test starts a program again. A process that
// another test starts has the listeners of this process until it executes its program, so an address is
// not always free when its listener has been closed.
func AwaitFree(t testing.TB, address string) {
	t.Helper()
	for deadline := time.Now().Add(Patience); ; time.Sleep(time.Millisecond) {
		l, err := net.Listen("tcp", address)
		if err == nil {
			err = l.Close()
		}
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
