package main

import (
	"context"
	"net"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/examples/internal/tour"
	"github.com/resourcesync-go/resourcesync/internal/oaitest"
)

// TestOAI: the pages of the records are listed, also after a restart without the repository.
func TestOAI(t *testing.T) {
	repository := oaitest.New("https://repo.example.org", 3, time.Now())
	server := httptest.NewServer(repository)
	defer server.Close()
	database := filepath.Join(t.TempDir(), "oai.db")
	s := tour.StartScan(t, func(ctx context.Context, ln net.Listener) error { return run(ctx, ln, server.URL+"/oai", database) })
	s.Await("/resourcesync/resourcelist.xml", repository.URIs()...)
	s.Await("/.well-known/resourcesync", s.URL+"/resourcesync/capabilitylist.xml")
	s.Stop()

	server.Close()
	s.Start()
	s.Await("/resourcesync/resourcelist.xml", repository.URIs()...)
}
