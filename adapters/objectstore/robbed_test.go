package objectstore_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
	"github.com/resourcesync-go/resourcesync/static"
)

// A robbed client closes lost when a renewal of the lease finds that another has taken it over.
type robbed struct {
	*faulty
	lost chan struct{}
}

func (r robbed) MaxSize() int64 { return 1 << 20 }

func (r robbed) Put(ctx context.Context, key string, body io.ReadSeeker, size int64, h objectstore.Header, c objectstore.Condition) (string, error) {
	etag, err := r.faulty.Put(ctx, key, body, size, h, c)
	if key == prefix+leaseName && errors.Is(err, objectstore.ErrCondition) && r.text(key) == "of another" {
		close(r.lost)
	}
	return etag, err
}

// TestRobbed checks that a writer that loses its lease in the middle reports what it has written, and
// states the reason once.
func TestRobbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := robbed{newFaulty(), make(chan struct{})}
		s := newSite(t, client)
		s.put(1, 50, "first")
		s.client.changed = func() {
			if len(s.client.puts) == 2 {
				client.replace(prefix+leaseName, "of another")
				<-client.lost
				synctest.Wait() // until the Store knows
			}
		}
		report, err := s.try()
		if !errors.Is(err, static.ErrLocked) || strings.Count(err.Error(), "the lease has been lost") != 1 {
			t.Errorf("error %v", err)
		}
		if len(report.Written) != 2 || client.text(prefix+leaseName) != "of another" {
			t.Errorf("written: %q", report.Written)
		}
	})
}
