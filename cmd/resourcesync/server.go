package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	// grace is how long requests under way may take to end when the program
	// is to stop.
	grace = 5 * time.Second

	// patience is how long a client may take to accept the next part of an
	// answer.
	patience = 2 * time.Minute
)

// serveHTTP serves h on ln until ctx is done, and then lets requests that are
// under way end.
//
// There is no limit to the time of a whole answer, because files may be large
// and lines slow; patientListener ends those that make no progress.
func serveHTTP(ctx context.Context, ln net.Listener, h http.Handler, log *slog.Logger) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(patientListener{ln, patience}) }()
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
