package needs_test

import (
	"net"
	"os/exec"
	"sync"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestAddressBesideProcesses: an address is free also if other tests start processes, which have the
// listeners of this process until they execute their programs.
func TestAddressBesideProcesses(t *testing.T) {
	program := needs.Program(t, "true")
	done := make(chan struct{})
	var others sync.WaitGroup
	defer others.Wait()
	defer close(done)
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					_ = exec.Command(program).Run()
				}
			}
		})
	}
	for range 300 {
		l, err := net.Listen("tcp", needs.Address(t))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
}
