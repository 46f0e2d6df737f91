package tour

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// StartProgram runs an example that scans in a process of its own, whose current folder is
// folder, until the test ends. TestMain calls [Main] with a function that takes the address to
// listen at from os.Args[1].
func StartProgram(t *testing.T, folder string) *ScanSite {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	ln.Close()
	s := &ScanSite{URL: "http://" + address, t: t, start: func() (kill func()) { return startProgram(t, folder, address) }}
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

func startProgram(t *testing.T, folder, address string) (kill func()) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(program, address)
	cmd.Dir, cmd.Env, cmd.Stderr = folder, append(os.Environ(), beMain+"=1"), &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	return func() {
		t.Helper()
		early := false
		select {
		case <-ended:
			early = true
		default:
			cmd.Process.Kill()
			<-ended
		}
		if early || t.Failed() || strings.Contains(stderr.String(), "DATA RACE") {
			t.Errorf("%v, and printed:\n%s", cmd.ProcessState, stderr.String())
		}
	}
}
