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
	// shutdownTimeout bounds the requests that are running when the program stops.
	shutdownTimeout = 5 * time.Second

	// writeTimeout bounds the time in which a client accepts a chunk of an answer.
	writeTimeout = 2 * time.Minute

	// readTimeout bounds the time in which a whole request arrives. Without uploads,
	// none takes longer.
	readTimeout = time.Minute

	// maxHeader is the maximum size of a request's header in bytes. It bounds the
	// memory of a connection. The URLs of documents are far shorter.
	maxHeader = 32 << 10
)

// A server serves one address.
type server struct {
	listener    net.Listener
	handler     http.Handler
	certificate *certificate // nil for http
	uploads     bool         // the handler bounds the bodies of requests
}

// run serves until ctx is done, and then waits for the running requests.
//
// The time of a whole answer has no limit, because files may be large and lines slow.
// The deadlineListener ends answers that make no progress.
func (s *server) run(ctx context.Context, log *slog.Logger) error {
	server := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       readTimeout,
		MaxHeaderBytes:    maxHeader,
		// The handler of net/http for OPTIONS * waits for bodies, and a website may
		// have its own answer.
		DisableGeneralOptionsHandler: true,

		IdleTimeout: 2 * time.Minute,
		ErrorLog:    slog.NewLogLogger(sparse.Handler(log.Handler()), slog.LevelWarn),
	}
	if s.uploads {
		server.ReadTimeout = 0
	}
	listener := deadlineListener{s.listener, writeTimeout}
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
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		log.Warn("requests were aborted because they did not end in time")
		server.Close()
	}
	return nil
}
