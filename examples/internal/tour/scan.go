package tour

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A ScanSite is an example that scans.
type ScanSite struct {
	URL string // without a slash at its end

	t     *testing.T
	start func() (stop func())
	stop  func()
}

// StartScan runs an example in this process until the test ends.
func StartScan(t *testing.T, run func(ctx context.Context, ln net.Listener) error) *ScanSite {
	t.Helper()
	s := &ScanSite{t: t}
	s.start = func() (stop func()) {
		t.Helper()
		address := "127.0.0.1:0"
		if s.URL != "" {
			address = strings.TrimPrefix(s.URL, "http://")
		}
		ln, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		s.URL = "http://" + ln.Addr().String()
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, ln) }()
		return func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			ln.Close()
		}
	}
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// Start starts the example again, at its former address.
func (s *ScanSite) Start() {
	s.t.Helper()
	s.stop = s.start()
}

// Stop ends the example.
func (s *ScanSite) Stop() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
		http.DefaultClient.CloseIdleConnections()
	}
}

// Await requests path until the answer has all texts: a scan takes its time.
func (s *ScanSite) Await(path string, texts ...string) {
	s.t.Helper()
	const patience = 20 * time.Second
	var answer string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		res, err := http.Get(s.URL + path)
		if err != nil {
			continue // it has not begun to listen
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			s.t.Fatal(err)
		}
		answer = string(body)
		missing := ""
		for _, text := range texts {
			if !strings.Contains(answer, text) {
				missing = text
			}
		}
		if missing == "" && res.StatusCode == http.StatusOK {
			return
		}
	}
	s.t.Fatalf("GET %s has not all of %q after %v:\n%s", path, texts, patience, answer)
}
