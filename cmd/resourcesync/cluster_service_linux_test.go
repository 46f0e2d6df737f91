package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A service is a program of a cluster, which is killed and started again.
type service struct {
	t       *testing.T
	name    string
	command func() *exec.Cmd
	ready   string // URL that answers 200 when the program serves; empty: nobody waits for it
	log     *os.File
	process *os.Process
	ended   chan error
}

// newService returns a program that has not been started. Its output goes to an artifact of the test.
func newService(t *testing.T, name, ready string, command func() *exec.Cmd) *service {
	t.Helper()
	log, err := os.Create(filepath.Join(t.ArtifactDir(), name+".log"))
	must(t, err)
	s := &service{t: t, name: name, ready: ready, command: command, log: log}
	t.Cleanup(func() {
		if s.process != nil {
			_ = syscall.Kill(-s.process.Pid, syscall.SIGKILL)
			<-s.ended
		}
		log.Close()
	})
	return s
}

// start starts the program, and waits until it serves.
func (s *service) start() {
	s.t.Helper()
	c := s.command()
	c.Stdout, c.Stderr = s.log, s.log
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	must(s.t, c.Start())
	s.process, s.ended = c.Process, make(chan error, 1)
	go func() { s.ended <- c.Wait() }()
	for until := time.Now().Add(needs.Patience); s.ready != ""; time.Sleep(20 * time.Millisecond) {
		err := answers(s.ready)
		if err == nil {
			return
		}
		s.mustRun()
		if time.Now().After(until) {
			s.t.Fatalf("%s does not serve: %v", s.name, err)
		}
	}
}

// mustRun fails the test if the program has ended by itself.
func (s *service) mustRun() {
	s.t.Helper()
	select {
	case err := <-s.ended:
		s.process = nil
		s.t.Fatalf("%s has ended by itself: %v", s.name, err)
	default:
	}
}

// kill ends the program and its children as a crash would.
func (s *service) kill() {
	s.t.Helper()
	s.mustRun()
	must(s.t, syscall.Kill(-s.process.Pid, syscall.SIGKILL))
	<-s.ended
	s.process = nil
}

// end asks the program to end, which must succeed.
func (s *service) end() {
	s.t.Helper()
	s.mustRun()
	must(s.t, s.process.Signal(syscall.SIGTERM))
	if err := <-s.ended; err != nil {
		s.t.Errorf("%s: %v", s.name, err)
	}
	s.process = nil
}

// answers returns why a URL does not answer 200.
func answers(url string) error {
	client := http.Client{Timeout: 5 * time.Second}
	res, err := client.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, res.Status)
	}
	return nil
}
