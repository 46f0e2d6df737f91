package objectstore_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
	"github.com/resourcesync-go/resourcesync/static"
)

// A slowLister client calls during in the middle of each listing, and stored after each object.
type slowLister struct {
	*faulty
	during, stored func()
}

func (s *slowLister) List(ctx context.Context, prefix string) iter.Seq2[objectstore.Object, error] {
	return func(yield func(objectstore.Object, error) bool) {
		first := true
		for o, err := range s.faulty.List(ctx, prefix) {
			if first {
				s.during()
			}
			if first = false; !yield(o, err) {
				return
			}
		}
	}
}

func (s *slowLister) Put(ctx context.Context, key string, body io.ReadSeeker, size int64, h objectstore.Header, c objectstore.Condition) (string, error) {
	etag, err := s.faulty.Put(ctx, key, body, size, h, c)
	s.stored()
	return etag, err
}

// TestConcurrent: an object that is stored while its folder is listed has its new stamp from then on.
func TestConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &slowLister{newFaulty(), func() {}, func() {}}
		s, err := objectstore.New(client, &objectstore.Options{Prefix: prefix, Logger: quiet})
		must(t, err)
		must(t, s.Lock(t.Context(), leaseName))
		var stamps []static.Stamp
		for i := range 30 {
			was, err := s.Write(t.Context(), fmt.Sprint("a/", i), content("first"), static.Stamp{})
			must(t, err)
			stamps = append(stamps, was)
		}
		var (
			writing sync.WaitGroup
			now     static.Stamp
			listed  int
		)
		client.during = func() {
			listed++
			arrived := make(chan struct{})
			client.stored = sync.OnceFunc(func() { close(arrived) })
			writing.Go(func() {
				var err error
				if now, err = s.Write(t.Context(), "a/7", content("second"), stamps[7]); err != nil {
					t.Error(err)
				}
			})
			<-arrived
		}
		for i := range 30 {
			is, err := s.Stat(t.Context(), fmt.Sprint("a/", i))
			if err != nil || i > 7 && is != stamps[i] {
				t.Errorf("object %d: %+v, %v", i, is, err)
			}
		}
		writing.Wait()
		if is, err := s.Stat(t.Context(), "a/7"); err != nil || is != now || listed != 1 {
			t.Errorf("%+v, %v, want %+v; %d listings", is, err, now, listed)
		}
		must(t, s.Unlock(t.Context()))
	})
}
