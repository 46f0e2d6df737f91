package needs

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
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
		if tryListen(address) == nil {
			return address
		}
	}
}

// tryListen returns why nothing can listen at address, or nil. A process that another test starts has the
// listeners of this process until it executes its program. So no process starts meanwhile: on Linux, one that
// starts has the lock until it executes its program. Elsewhere, net.Listen takes the lock itself.
func tryListen(address string) error {
	if runtime.GOOS == "linux" {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}

// AwaitFree waits until nothing listens at address, where a test starts a program again: a process that has
// just been started may still have the listener that the program has closed.
func AwaitFree(t testing.TB, address string) {
	t.Helper()
	for deadline := time.Now().Add(Patience); ; time.Sleep(time.Millisecond) {
		err := tryListen(address)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
