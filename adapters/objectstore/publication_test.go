package objectstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/static"
)

// publishEvery runs a Publication of s until the returned function is called.
func (s *site) publishEvery(every, listEvery time.Duration) (p *static.Publication, stop func()) {
	s.t.Helper()
	o := static.PublicationOptions{Options: s.options, Every: every, ListEvery: listEvery}
	src, err := static.New(origin+"/rs/", []static.Set{{Name: "papers", Provider: s.set}}, &static.SourceOptions{Division: static.Division{PageSize: s.page}})
	must(s.t, err)
	store, err := objectstore.New(s.client, &s.Objects)
	must(s.t, err)
	p = static.NewPublication(store, src, &o)
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error, 2)
	go func() { done <- p.Run(ctx) }()
	go func() { done <- s.store.Run(ctx) }()
	return p, func() {
		cancel()
		must(s.t, errors.Join(<-done, <-done))
	}
}

// await waits until p has published the present state.
func await(t *testing.T, p *static.Publication) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), needs.Patience)
	defer cancel()
	if err := p.Await(ctx); err != nil {
		t.Fatalf("%v; health: %v", err, p.Health(t.Context()))
	}
}

// TestPublication: changes cost the Change Lists. A Publication that is kept from an object says so, and
// continues when it can. One that loses its lease continues when the other's lease is void.
func TestPublication(t *testing.T) {
	each(t, func(t *testing.T, b server) {
		s := newSite(t, b.client)
		s.Objects.Lease = 5 * time.Second
		s.options.Grace = -1
		s.put(1, 35, "first")
		p, stop := s.publishEvery(20*time.Millisecond, 0)
		await(t, p)
		s.check(b, 35, prefix+leaseName)
		s.client.take()
		for i := range 3 {
			s.put(i+1, i+12, "second")
			await(t, p)
		}
		took := s.client.take()
		if len(took) == 0 {
			t.Error("changes are not published")
		}
		for _, key := range took {
			if !strings.Contains(key, "/changelist") {
				t.Errorf("a change stored %s", key)
			}
		}
		s.check(b, 35, prefix+leaseName)

		index := prefix + "rs/papers/changelist.xml"
		b.put(index, "of another program")
		s.put(1, 25, "third")
		eventually(t, func() bool {
			err := p.Health(t.Context())
			return err != nil && strings.Contains(err.Error(), "changelist.xml") && strings.Contains(err.Error(), "another program has stored it")
		})
		o, err := b.client.Head(t.Context(), index)
		must(t, err)
		must(t, b.client.Delete(t.Context(), index, o.ETag))
		eventually(t, func() bool { return p.Health(t.Context()) == nil })
		s.check(b, 35, prefix+leaseName)

		b.put(prefix+leaseName, "of another writer")
		for i := 0; p.Status().Publishing; i++ { // a change makes it notice
			s.put(1, 1, fmt.Sprint("fourth-", i))
			time.Sleep(10 * time.Millisecond)
		}
		await(t, p)
		stop()
		s.check(b, 35)
	})
}

func eventually(t *testing.T, is func() bool) {
	t.Helper()
	for until := time.Now().Add(needs.Patience); time.Now().Before(until); time.Sleep(30 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatal("it did not happen")
}
