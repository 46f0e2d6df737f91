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
// 0. Each process leases a block of them, and gives each only once: a program that a test starts
// again finds its address free.
const (
	firstPort = 12_000
	blockSize = 500
	blocks    = 40
)

var (
	addresses sync.Mutex
	lease     net.Listener // at the first port of this process's block, until the process ends
	ports     []int        // of the block, not given yet
)

// Address returns an address of this computer at which nothing listens, for a program that has
// to be given one. No other test of this process gets it.
func Address(t testing.TB) string {
	t.Helper()
	addresses.Lock()
	defer addresses.Unlock()
	if lease == nil {
		lease = leaseBlock(t)
	}
	for {
		if len(ports) == 0 {
			ports = rand.Perm(blockSize - 1)
		}
		port := lease.Addr().(*net.TCPAddr).Port + 1 + ports[0]
		ports = ports[1:]
		address := fmt.Sprintf("127.0.0.1:%d", port)
		if tryListen(address) == nil {
			return address
		}
	}
}

// leaseBlock listens at the first port of a block that no other process has leased.
func leaseBlock(t testing.TB) net.Listener {
	t.Helper()
	// Package os starts a process once, without the lock that tryListen takes, to find out whether the
	// kernel has process descriptors. This makes it do so now.
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Release()
	}
	var err error
	for _, block := range rand.Perm(blocks) {
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+block*blockSize)); err == nil {
			return l
		}
	}
	t.Fatalf("all %d blocks of ports from %d are leased: %v", blocks, firstPort, err)
	return nil
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
