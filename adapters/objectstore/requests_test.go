package objectstore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
	"github.com/resourcesync-go/resourcesync/static"
)

// A failing set has no state.
type failing struct{ *memory.Set }

func (failing) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return resourcesync.Stat{}, errors.New("the database is gone")
}

// TestFailingSet: while a set of a bucket fails, which is read again every few seconds, the pages of the
// others are asked for once.
func TestFailingSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &counted{Client: robbed{newFaulty(), make(chan struct{})}}
		store, err := objectstore.New(client, &objectstore.Options{Logger: quiet})
		must(t, err)
		papers := memory.New(nil)
		for i := range 500 {
			must(t, papers.Put(t.Context(), resource(i, "first")))
		}
		src, err := static.New(origin+"/rs/", []static.Set{{Name: "maps", Provider: failing{memory.New(nil)}}, {Name: "papers", Provider: papers}},
			&static.SourceOptions{Division: static.Division{PageSize: 5}})
		must(t, err)
		publish := func(d time.Duration) {
			client.heads, client.lists = 0, 0
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			must(t, static.NewPublication(store, src, &static.PublicationOptions{Options: static.Options{Logger: quiet}}).Run(ctx))
		}
		publish(time.Minute)
		if documents := len(client.take()); documents < 200 {
			t.Fatalf("%d documents stored", documents)
		}
		publish(30 * time.Minute)
		if stored := client.take(); client.heads+client.lists > 100 || len(stored) > 0 {
			t.Errorf("%d requests for objects, %d listings, stored: %q", client.heads, client.lists, stored)
		}
	})
}

// TestUnknownWrite: the object of a write whose outcome was not known is not stored, nor asked for, once
// more than needed.
func TestUnknownWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newFaulty()
		s, _ := storeIn(t, m)
		must(t, s.Lock(t.Context(), leaseName))
		was, err := s.Write(t.Context(), "a", content("one"), static.Stamp{})
		must(t, err)
		for range 20 { // from then on it has a listing
			_, err := s.Stat(t.Context(), "a")
			must(t, err)
		}
		m.isolate(errors.New("connection reset"))
		if _, err := s.Write(t.Context(), "a", content("two"), was); err == nil {
			t.Error("no error")
		}
		m.isolate(nil)
		now, same, err := s.Compare(t.Context(), "a", content("two"))
		if err != nil || !same {
			t.Errorf("same: %t, %v", same, err)
		}
		if is, err := s.Stat(t.Context(), "a"); err != nil || is != now {
			t.Errorf("%+v, %v, want %+v", is, err, now)
		}
		must(t, s.Unlock(t.Context()))
	})
}
