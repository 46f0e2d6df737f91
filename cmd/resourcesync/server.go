package main

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

const (
	// grace is how long requests under way may take to end when the program
	// is to stop.
	grace = 5 * time.Second

	// patience is how long a client may take to accept the next part of an
	// answer.
	patience = 2 * time.Minute

	// requestTime is how long a whole request may take to arrive. What is
	// served takes none longer: there are no uploads.
	requestTime = time.Minute

	// maxHeader is how many bytes the header of a request may have. It bounds the
	// memory of a connection; the URLs of documents are far shorter.
	maxHeader = 32 << 10
)

// A server serves one address.
type server struct {
	listener    net.Listener
	handler     http.Handler
	certificate *certificate // nil for http
	uploads     bool         // requests have bodies that the handler bounds
}

// run serves until ctx is done, and then lets requests that are under way end.
//
// There is no limit to the time of a whole answer, because files may be large
// and lines slow; patientListener ends those that make no progress.
func (s *server) run(ctx context.Context, log *slog.Logger) error {
	server := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       requestTime,
		MaxHeaderBytes:    maxHeader,
		// The one of net/http for OPTIONS * waits for bodies, and a website may
		// have an answer of its own.
		DisableGeneralOptionsHandler: true,

		IdleTimeout: 2 * time.Minute,
		ErrorLog:    slog.NewLogLogger(sparse.Handler(log.Handler()), slog.LevelWarn),
	}
	if s.uploads {
		server.ReadTimeout = 0
	}
	listener := patientListener{s.listener, patience}
	failed := make(chan error, 1)
	go func() {
		if s.certificate == nil {
			failed <- server.Serve(listener)
			return
		}
		server.TLSConfig = &tls.Config{GetCertificate: s.certificate.get}
		failed <- server.ServeTLS(listener, "", "")
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		log.Warn("requests were broken off that had not ended in time")
		server.Close()
	}
	return nil
}
