package main

import (
	"context"
	"net"
	"regexp"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/examples/internal/tour"
	"github.com/resourcesync-go/resourcesync/providertest"
)

// startNATS starts a server with JetStream, and returns its URL.
func startNATS(t *testing.T) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	return s.ClientURL()
}

func newBucket(t *testing.T, url string) jetstream.KeyValue {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.CreateOrUpdateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "papers"})
	if err != nil {
		t.Fatal(err)
	}
	return kv
}

// TestBucket: the provider obeys the contract.
func TestBucket(t *testing.T) {
	kv := newBucket(t, startNATS(t))
	for _, key := range []string{"b", "a", "Z", "papers/2026.txt"} {
		if _, err := kv.PutString(t.Context(), key, "Hello from "+key); err != nil {
			t.Fatal(err)
		}
	}
	valid := regexp.MustCompile(`^[-/_=a-zA-Z0-9]+(\.[-/_=a-zA-Z0-9]+)*$`)
	err := providertest.Test(t.Context(), Bucket{kv, "https://example.org/values/"}, &providertest.Options{
		Put: func(ctx context.Context, resources ...resourcesync.Resource) error {
			for _, r := range resources {
				if _, err := kv.PutString(ctx, r.Key, r.URI); err != nil {
					return err
				}
			}
			return nil
		},
		Delete: func(ctx context.Context, keys ...string) error {
			for _, key := range keys {
				if err := kv.Delete(ctx, key); err != nil {
					return err
				}
			}
			return nil
		},
		Keys: valid.MatchString,
		// The bucket has values, not the other fields that the suite writes.
		Equal: func(got, want resourcesync.Resource) bool { return got.Key == want.Key },
	})
	if err != nil {
		t.Error(err)
	}
}

// TestServed: written values are listed.
func TestServed(t *testing.T) {
	url := startNATS(t)
	kv := newBucket(t, url)
	s := tour.StartScan(t, func(ctx context.Context, ln net.Listener) error { return run(ctx, ln, url, "papers") })
	if _, err := kv.PutString(t.Context(), "hello", "Hello"); err != nil {
		t.Fatal(err)
	}
	s.Await("/resourcesync/resourcelist.xml", s.URL+"/values/hello", `length="5"`)
	s.Await("/values/hello", "Hello")
	if err := kv.Delete(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.PutString(t.Context(), "other", "Hello"); err != nil {
		t.Fatal(err)
	}
	s.Await("/resourcesync/resourcelist.xml", s.URL+"/values/other")
}
