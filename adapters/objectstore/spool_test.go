package objectstore_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
	"github.com/resourcesync-go/resourcesync/static"
)

// large is a content of several times the maximum size.
type large struct{ written int }

func (l *large) WriteTo(w io.Writer) (total int64, err error) {
	for range 50 {
		n, err := w.Write(make([]byte, maxSize/10))
		if total += int64(n); err != nil {
			return total, err
		}
		l.written += n
	}
	return total, nil
}

// TestTooLarge checks that a content that the store cannot take fails before it has been read as a whole,
// and that one of the maximum size does not.
func TestTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newFaulty()
		s, _ := storeIn(t, m)
		must(t, s.Lock(t.Context(), leaseName))
		body := new(large)
		_, err := s.Write(t.Context(), "a.zip", static.Content{WriterTo: body}, static.Stamp{})
		if !errors.Is(err, objectstore.ErrTooLarge) || !strings.Contains(err.Error(), "a.zip") || body.written > maxSize || m.text("a.zip") != "" {
			t.Errorf("%d bytes written: %v", body.written, err)
		}
		_, err = s.Write(t.Context(), "b.zip", static.Content{WriterTo: bytes.NewBuffer(make([]byte, maxSize))}, static.Stamp{})
		must(t, err)
		must(t, s.Unlock(t.Context()))
	})
}
